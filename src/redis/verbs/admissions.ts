import type { NamedRequest, SharedAdmission } from '../protocol/shared-backend.ts'
import { shardOf } from '../scripts/shard-of.ts'
import { AdmissionBatches } from './admission-batches.ts'
import type { ProducerVerbs } from './producer-verbs.ts'

/** Requests to be admitted, each in the shard of its key: those that come one by one travel with others of the moment. */
export class Admissions {
  readonly #producers: ProducerVerbs
  readonly #shards: number
  readonly #batches: readonly AdmissionBatches[]

  constructor(producers: ProducerVerbs, shards: number) {
    this.#producers = producers
    this.#shards = shards
    this.#batches = Array.from(
      { length: shards },
      (_, shard) => new AdmissionBatches((some) => producers.admit(shard, some)),
    )
  }

  async one(request: NamedRequest, now?: number): Promise<SharedAdmission> {
    const shard = shardOf(request.key, this.#shards)
    if (now === undefined) return this.#batches[shard]!.admit(request)
    const [admission] = await this.#producers.admit(shard, [request], now)
    return admission!
  }

  /** One call for each shard; verdicts in the order of the requests. */
  async many(requests: readonly NamedRequest[], now?: number): Promise<SharedAdmission[]> {
    const byShard = new Map<number, NamedRequest[]>()
    for (const request of requests) {
      const shard = shardOf(request.key, this.#shards)
      const known = byShard.get(shard)
      if (known === undefined) byShard.set(shard, [request])
      else known.push(request)
    }
    const told = new Map<NamedRequest, SharedAdmission>()
    await Promise.all(
      [...byShard].map(async ([shard, some]) => {
        const admissions = await this.#producers.admit(shard, some, now)
        for (const [index, request] of some.entries()) told.set(request, admissions[index]!)
      }),
    )
    return requests.map((request) => told.get(request)!)
  }
}
