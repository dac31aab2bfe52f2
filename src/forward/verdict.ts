import { VelvetRopeError } from '../core/errors.ts'

/**
 * What a response means for its job.
 *
 * | verdict | statuses                                  | the job                                           |
 * |---------|-------------------------------------------|---------------------------------------------------|
 * | done    | 2xx                                       | completes                                         |
 * | later   | 429, 503, 529                             | keeps its attempt; its bucket is frozen           |
 * | again   | 408, 425, and other 500 and above         | is retried after its backoff                      |
 * | never   | 3xx, other 4xx                            | fails: the same request would be refused again    |
 *
 * A 1xx is not final: if one comes instead of a final response, the job is retried.
 */
export type Verdict = 'done' | 'later' | 'again' | 'never'

/** The third party asks to retry later. */
export const LATER: ReadonlySet<number> = new Set([429, 503, 529])
const AGAIN: ReadonlySet<number> = new Set([408, 425])

export function verdictOf(status: number): Verdict {
  if (status >= 200 && status < 300) return 'done'
  if (LATER.has(status)) return 'later'
  return AGAIN.has(status) || status >= 500 || status < 200 ? 'again' : 'never'
}

/** The class of a response to a request; `error` if none came. */
export type StatusClass = '2xx' | '3xx' | '4xx' | '5xx' | 'error'

const CLASSES = ['error', 'error', '2xx', '3xx', '4xx'] as const

/** An unknown class counts as a fault of the server (RFC 9110, section 15). */
export function statusClassOf(status: number | undefined): StatusClass {
  return CLASSES[Math.floor((status ?? 0) / 100)] ?? '5xx'
}

/** A request failed: with the given `status`, or without a response, and then without a status. */
export class RequestFailedError extends VelvetRopeError {
  readonly status: number | undefined

  constructor(message: string, options?: ErrorOptions & { readonly status?: number }) {
    super('request-failed', message, options)
    this.status = options?.status
  }
}
