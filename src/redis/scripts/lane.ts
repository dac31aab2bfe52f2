import { isVelvetRopeError } from '../../core/errors.ts'

interface Waiting {
  enter(): void
  turnAway(error: unknown): void
}

/**
 * So many calls at a time; the others wait in their order, so that one process cannot make Redis late for itself. When
 * one fails because Redis is away, so do all who wait: they have waited for the same.
 */
export class Lane {
  #free: number
  #waiting: Waiting[] = []

  constructor(width: number) {
    this.#free = width
  }

  async run<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((enter, turnAway) => void this.#waiting.push({ enter, turnAway }))
    try {
      return await call()
    } catch (error) {
      if (isVelvetRopeError(error, 'backend-unavailable')) {
        for (const { turnAway } of this.#waiting.splice(0)) turnAway(error)
      }
      throw error
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next.enter()
    }
  }
}
