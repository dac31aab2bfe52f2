import { useEffect, useState } from 'preact/hooks'
import type { RulePreview } from '../../../core/rule-view.ts'
import type { ApiProblem } from '../data/api.ts'
import { asProblem } from '../data/session.ts'
import { previewChange, type RuleRequest } from './rule-requests.ts'

/** Whoever types is not asked for after every letter. */
const REST_MS = 350

interface Previewed {
  /** That of exactly this request; undefined while it is not known. */
  readonly preview: RulePreview | undefined
  readonly problem: ApiProblem | undefined
  /** Asks again, such as after somebody else has changed the rule book. */
  readonly again: () => void
}

/** What a change of the rule book would do, asked whenever the change is another. */
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
