interface Waiting<Request, Answer> {
  readonly request: Request
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/** Requests that wait to go out together; each is answered by itself. */
export class Batch<Request, Answer> {
  #waiting: Waiting<Request, Answer>[] = []

  add(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject })
    })
  }

  /** Answers those that `isMet` in place of the store: there is no need to ask it any more. */
  answer(isMet: (request: Request) => boolean, answer: Answer): void {
    this.#waiting = this.#waiting.filter(({ request, resolve }) => {
      if (!isMet(request)) return true
      resolve(answer)
      return false
    })
  }

  /** Sends them all, at most `most` in a call, without waiting for one call before the next. */
  flush(most: number, call: (requests: readonly Request[]) => Promise<readonly Answer[]>): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (let from = 0; from < waiting.length; from += most) {
      const part = waiting.slice(from, from + most)
      call(part.map(({ request }) => request)).then(
        (answers) => {
          for (const [index, { resolve }] of part.entries()) resolve(answers[index]!)
        },
        (error: unknown) => {
          for (const { reject } of part) reject(error)
        },
      )
    }
  }
}
