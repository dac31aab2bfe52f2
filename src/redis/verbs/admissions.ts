import { isVelvetRopeError } from '../../core/errors.ts'
import type { Store } from '../scripts/store.ts'
import type { admitVerb, TimedAdmission } from './admit.ts'
import { type NamedRequest, sizeOfCall } from './admit-calls.ts'

/** One call is on its way while the next one is being written. */
const MOST_UNDER_WAY = 2
const WORTH_HALVING = 16

type Admit = ReturnType<typeof admitVerb>

/** Admits requests, each in the shard of its key: those that come one by one travel with others of the moment. */
export function admissions(store: Store, admit: Admit) {
  const batches = store.tags.map((_, shard) => new Batches((some) => admit(shard, some)))

  const one = async (request: NamedRequest, now?: number): Promise<TimedAdmission> => {
    const shard = store.shardOf(request.key)
    if (now === undefined) return batches[shard]!.admit(request)
    const [admission] = await admit(shard, [request], now)
    return admission!
  }

  /** One call for each shard; verdicts in the order of the requests. */
  const many = async (requests: readonly NamedRequest[], now?: number): Promise<TimedAdmission[]> => {
    const byShard = new Map<number, NamedRequest[]>()
    for (const request of requests) {
      const shard = store.shardOf(request.key)
      const known = byShard.get(shard)
      if (known === undefined) byShard.set(shard, [request])
      else known.push(request)
    }
    const answered = new Map<NamedRequest, TimedAdmission>()
    await Promise.all(
      [...byShard].map(async ([shard, some]) => {
        const answers = await admit(shard, some, now)
        for (const [index, request] of some.entries()) answered.set(request, answers[index]!)
      }),
    )
    return requests.map((request) => answered.get(request)!)
  }

  return { admit: one, admitMany: many }
}

interface Waiting {
  readonly request: NamedRequest
  readonly resolve: (admission: TimedAdmission) => void
  readonly reject: (error: unknown) => void
}

/**
 * Gathers the requests to one shard that come while a call is under way, and passes them on together, in their order.
 * A request that comes alone is sent at once.
 */
class Batches {
  readonly #admit: (requests: readonly NamedRequest[]) => Promise<TimedAdmission[]>
  #waiting: Waiting[] = []
  #underWay = 0
  #isPlanned = false

  constructor(admit: (requests: readonly NamedRequest[]) => Promise<TimedAdmission[]>) {
    this.#admit = admit
  }

  admit(request: NamedRequest): Promise<TimedAdmission> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject })
      this.#plan()
    })
  }

  #plan(): void {
    if (this.#isPlanned || this.#underWay >= MOST_UNDER_WAY || this.#waiting.length === 0) return
    this.#isPlanned = true
    // Requests of the same tick travel together.
    queueMicrotask(() => {
      this.#isPlanned = false
      void this.#call(this.#waiting.splice(0, this.#sizeOfNext()))
      this.#plan()
    })
  }

  /** Half of many, when none is under way: Redis works on one half while this process works on the other. */
  #sizeOfNext(): number {
    const requests = this.#waiting.map(({ request }) => request)
    const most = sizeOfCall(requests, 0)
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
