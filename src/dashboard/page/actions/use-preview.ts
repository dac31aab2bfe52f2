import { useEffect, useState } from 'preact/hooks'
import type { RulePreview } from '../../../core/rule-view.ts'
import type { ApiProblem } from '../data/api.ts'
import { asProblem } from '../data/session.ts'
import { previewChange, type RuleRequest } from './rule-requests.ts'

/** Asks only after a pause in typing. */
const REST_MS = 350

interface Previewed {
  /** The preview of exactly this request; undefined while it is unknown. */
  readonly preview: RulePreview | undefined
  readonly problem: ApiProblem | undefined
  /** Asks again, such as after another change of the rule book. */
  readonly again: () => void
}

/** Previews a change of the rule book, again whenever the request changes. */
export function usePreview(request: RuleRequest | undefined): Previewed {
  const [round, setRound] = useState(0)
  const [answer, setAnswer] = useState<{
    readonly for: string
    readonly preview?: RulePreview
    readonly problem?: ApiProblem
  }>()
  const name = request === undefined ? '' : JSON.stringify([request, round])
  useEffect(() => {
    if (request === undefined) return
    const abort = new AbortController()
    const timer = setTimeout(async () => {
      try {
        setAnswer({ for: name, preview: await previewChange(request, abort.signal) })
      } catch (error) {
        if (!abort.signal.aborted) setAnswer({ for: name, problem: asProblem(error) })
      }
    }, REST_MS)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [name])
  const current = answer?.for === name ? answer : undefined
  return { preview: current?.preview, problem: current?.problem, again: () => setRound(round + 1) }
}
