import { useEffect } from 'preact/hooks'
import { notice } from '../data/notice.ts'
import { useStore } from './hooks.ts'
import { Icon } from './icon.tsx'

const SHOWN_MS = 6_000

/** The latest notice; it disappears by itself. */
export function Notices() {
  const now = useStore(notice)
  useEffect(() => {
    if (now === undefined) return
    const timer = setTimeout(() => notice.set(undefined), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [now])
  return (
    <div class="notices" role="status" aria-live="polite">
      {now !== undefined && (
        <p key={now.number} class={`notice ${now.isBad ? 'is-bad' : ''}`}>
          <Icon name={now.isBad ? 'warning' : 'check'} />
          {now.text}
        </p>
      )}
    </div>
  )
}
