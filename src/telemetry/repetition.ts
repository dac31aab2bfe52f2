import { Flood } from './flood.ts'

const MOST_REMEMBERED = 100

/** Lets each text through once in ten seconds: what comes again and again, as an error does while Redis is away. */
export class Repetition {
  readonly #floods = new Map<string, Flood>()

  /** How often it came since it last passed; undefined: it is kept back. `now` is in microseconds. */
  note(text: string, now: number): number | undefined {
    let flood = this.#floods.get(text)
    if (flood === undefined) {
      if (this.#floods.size === MOST_REMEMBERED) this.#floods.clear()
      flood = new Flood(1)
      this.#floods.set(text, flood)
    }
    return flood.pass(now)
  }
}
