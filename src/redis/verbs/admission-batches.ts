import { isVelvetRopeError } from '../../core/errors.ts'
import type { NamedRequest, SharedAdmission } from '../protocol/shared-backend.ts'
import { sizeOfSlice } from '../scripts/slices.ts'

/** One call is on its way while the next one is being written. */
const MOST_UNDER_WAY = 2
const WORTH_HALVING = 16

interface Waiting {
  readonly request: NamedRequest
  readonly resolve: (admission: SharedAdmission) => void
  readonly reject: (error: unknown) => void
}

/**
 * Gathers the requests to one shard that come while a call is under way, and passes them on together, in their order.
 * One who comes alone is not held up.
 */
export class AdmissionBatches {
  readonly #admit: (requests: readonly NamedRequest[]) => Promise<SharedAdmission[]>
  #waiting: Waiting[] = []
  #underWay = 0
  #isPlanned = false

  constructor(admit: (requests: readonly NamedRequest[]) => Promise<SharedAdmission[]>) {
    this.#admit = admit
  }

  admit(request: NamedRequest): Promise<SharedAdmission> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject })
      this.#plan()
    })
  }

  #plan(): void {
    if (this.#isPlanned || this.#underWay >= MOST_UNDER_WAY || this.#waiting.length === 0) return
    this.#isPlanned = true
    // Whoever asks in the same tick comes along.
    queueMicrotask(() => {
      this.#isPlanned = false
      void this.#call(this.#waiting.splice(0, this.#sizeOfNext()))
      this.#plan()
    })
  }

  /** Half of many, when none is under way: Redis works on one half while this process works on the other. */
  #sizeOfNext(): number {
    const requests = this.#waiting.map(({ request }) => request)
    const most = sizeOfSlice(requests, 0)
    return this.#underWay === 0 && most >= WORTH_HALVING ? Math.ceil(most / 2) : most
  }

  async #call(batch: readonly Waiting[]): Promise<void> {
    this.#underWay++
    try {
      const admissions = await this.#admit(batch.map(({ request }) => request))
      for (const [index, { resolve }] of batch.entries()) resolve(admissions[index]!)
    } catch (error) {
      // One bad request refuses the call; the others shall not pay for it.
      const isOutage = isVelvetRopeError(error, 'backend-unavailable')
      if (isOutage || batch.length === 1) for (const { reject } of batch) reject(error)
      else await this.#callOneByOne(batch)
      // They have waited for the same Redis.
      if (isOutage) for (const { reject } of this.#waiting.splice(0)) reject(error)
    }
    this.#underWay--
    this.#plan()
  }

  async #callOneByOne(batch: readonly Waiting[]): Promise<void> {
    for (const { request, resolve, reject } of batch) {
      try {
        resolve((await this.#admit([request]))[0]!)
      } catch (error) {
        reject(error)
      }
    }
  }
}
