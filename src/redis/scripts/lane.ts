import { isVelvetRopeError } from '../../core/errors.ts'
import { Semaphore, Units } from '../../core/semaphore.ts'

/**
 * Runs so many calls at a time; the others wait in their order, so that one process cannot make Redis late for itself. When
 * one fails because Redis is away, so do all that wait: they wait for the same Redis.
 */
export class Lane {
  readonly #calls: Semaphore<number>

  constructor(width: number) {
    this.#calls = new Semaphore(new Units(width))
  }

  async run<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    if (!this.#calls.tryTake(1)) {
      await new Promise<void>((resolve, reject) => void this.#calls.take(1, resolve, reject))
    }
    try {
      return await call()
    } catch (error) {
      if (isVelvetRopeError(error, 'backend-unavailable')) this.#calls.refuseAll(error)
      throw error
    } finally {
      this.#calls.release(1)
    }
  }
}
