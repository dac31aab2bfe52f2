/**
 * What an answer means for its job.
 *
 * | verdict | statuses                                  | the job                                           |
 * |---------|-------------------------------------------|---------------------------------------------------|
 * | done    | 2xx                                       | completes                                         |
 * | later   | 429, 503, 529                             | keeps its attempt; its bucket is frozen           |
 * | again   | 408, 425, and 500 and above but for these | is tried again after its backoff                  |
 * | never   | 3xx, 4xx but for these                    | fails: the same request would be refused again    |
 *
 * A 1xx is no answer yet: where one comes instead of an answer, the job is tried again.
 */
export type Verdict = 'done' | 'later' | 'again' | 'never'

/** The other side wants to be left alone for a while. */
export const LATER: ReadonlySet<number> = new Set([429, 503, 529])
const AGAIN: ReadonlySet<number> = new Set([408, 425])

export function verdictOf(status: number): Verdict {
  if (status >= 200 && status < 300) return 'done'
  if (LATER.has(status)) return 'later'
  return AGAIN.has(status) || status >= 500 || status < 200 ? 'again' : 'never'
}

/** Of a request that was sent: how its answer begins; `error` when none came. */
export type StatusClass = '2xx' | '3xx' | '4xx' | '5xx' | 'error'

const CLASSES = ['error', 'error', '2xx', '3xx', '4xx'] as const

/** What is no class of HTTP's counts as a fault of the server (RFC 9110, section 15). */
export function statusClassOf(status: number | undefined): StatusClass {
  return CLASSES[Math.floor((status ?? 0) / 100)] ?? '5xx'
}
