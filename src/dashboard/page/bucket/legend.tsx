import type { LineJob } from '../../../core/line-view.ts'
import { GuestFigure } from './guest-figure.tsx'

const KINDS: readonly {
  readonly guest: Pick<LineJob, 'state' | 'cost' | 'isTurn'>
  readonly says: string
}[] = [
  { guest: { state: 'handed', cost: 1 }, says: 'handed to a worker' },
  { guest: { state: 'waiting', cost: 1 }, says: 'waiting' },
  { guest: { state: 'retrying', cost: 1 }, says: 'retrying' },
  { guest: { state: 'waiting', cost: 1, isTurn: true }, says: 'a turn' },
]

/** What the guests look like. */
export function Legend() {
  return (
    <ul class="legend" aria-hidden="true">
      {KINDS.map(({ guest, says }) => (
        <li key={says} class="guest">
          <GuestFigure guest={guest} width={20} />
          {says}
        </li>
      ))}
    </ul>
  )
}
