import { useEffect, useState } from 'preact/hooks'
import { wallClockMs } from '../clock.ts'
import type { ApiProblem } from '../data/api.ts'
import { restMsAfter } from '../data/ask-again.ts'
import { ruleChanges } from '../data/live.ts'
import { notice } from '../data/notice.ts'
import { asProblem, lock } from '../data/session.ts'
import { useStore } from './hooks.ts'

interface Polled<Value> {
  /** What was answered last for this name; undefined before. */
  readonly value: Value | undefined
  readonly problem: ApiProblem | undefined
}

/**
 * Asks again and again while the page is visible, and at once when the rule book changes or something was done here.
 *
 * @param name of what is asked for: another one begins anew
 * @param restMs the pause after an answer that comes at once
 */
export function usePolled<Value>(
  name: string,
  load: (signal: AbortSignal) => Promise<Value>,
  restMs: (value: Value | undefined) => number,
): Polled<Value> {
  const [answer, setAnswer] = useState<Polled<Value> & { readonly name: string }>()
  const changes = useStore(ruleChanges)
  const done = useStore(notice)
  useEffect(() => {
    const abort = new AbortController()
    let timer: number | undefined
    let askedAt = 0
    const take = (taken: Polled<Value>) => {
      if (abort.signal.aborted) return
      setAnswer((before) => ({
        name,
        ...taken,
        value: taken.value ?? (before?.name === name ? before.value : undefined),
      }))
      timer = window.setTimeout(run, restMsAfter(wallClockMs() - askedAt, restMs(taken.value)))
    }
    const run = () => {
      clearTimeout(timer)
      if (document.visibilityState === 'hidden') return
      askedAt = wallClockMs()
      load(abort.signal).then(
        (value) => take({ value, problem: undefined }),
        (error: unknown) => {
          const problem = asProblem(error)
          if (problem.status === 401 && !abort.signal.aborted) lock()
          take({ value: undefined, problem })
        },
      )
    }
    document.addEventListener('visibilitychange', run)
    run()
    return () => {
      document.removeEventListener('visibilitychange', run)
      clearTimeout(timer)
      abort.abort()
    }
  }, [name, changes, done])
  return answer?.name === name ? answer : { value: undefined, problem: undefined }
}
