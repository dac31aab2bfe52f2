import { BackendUnavailableError } from '../../core/errors.ts'

interface Waiting<Request, Answer> {
  readonly request: Request
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/** The bytes of one call at most, unless one request alone is larger. */
export const MOST_BYTES = 1_048_576

export interface CallBounds<Request> {
  /** Requests in one call. */
  readonly most: number
  /** What a request and its answer carry. Default: next to nothing. */
  readonly bytesOf?: (request: Request) => number
}

type Call<Request, Answer> = (requests: readonly Request[]) => Promise<readonly (Answer | undefined)[]>

/** Gathers requests that go out together; each has an answer of its own. */
export class Batch<Request, Answer> {
  #waiting: Waiting<Request, Answer>[] = []

  add(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject })
    })
  }

  /** Resolves requests for which `isMet` holds without a call: the store need not be asked any more. */
  answer(isMet: (request: Request) => boolean, answer: Answer): void {
    this.#waiting = this.#waiting.filter(({ request, resolve }) => {
      if (!isMet(request)) return true
      resolve(answer)
      return false
    })
  }

  /**
   * Sends all requests, in as many calls as the bounds require, without waiting for one call before the next. Where a call
   * answers only some of its requests, the others fail and may be made again.
   */
  flush({ most, bytesOf }: CallBounds<Request>, call: Call<Request, Answer>): void {
    const waiting = this.#waiting
    this.#waiting = []
    let part: Waiting<Request, Answer>[] = []
    let bytes = 0
    for (const one of waiting) {
      const more = bytesOf?.(one.request) ?? 0
      if (part.length === most || (part.length > 0 && bytes + more > MOST_BYTES)) {
        send(part, call)
        part = []
        bytes = 0
      }
      part.push(one)
      bytes += more
    }
    if (part.length > 0) send(part, call)
  }
}

function send<Request, Answer>(part: readonly Waiting<Request, Answer>[], call: Call<Request, Answer>): void {
  call(part.map(({ request }) => request)).then(
    (answers) => {
      for (const [index, { resolve, reject }] of part.entries()) {
        const answer = answers[index]
        if (answer === undefined)
          reject(new BackendUnavailableError('Redis is unavailable: no answer for all of a call'))
        else resolve(answer)
      }
    },
    (error: unknown) => {
      for (const { reject } of part) reject(error)
    },
  )
}
