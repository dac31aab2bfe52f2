import { type Limit, parseLimit } from '../../src/core/limit.ts'
import { useOf } from '../../src/core/total.ts'
import type { Counted } from '../../src/core/usage.ts'
import type { Driver } from './backend-driver.ts'
import { lookAt, type RedisDriver } from './redis-driver.ts'
import { type TaggedChild, tagsOf } from './redis-tags.ts'

/** Two children of a total had the same tag: in memory the one goes first that has been there longer, on Redis the one whose key is first. */
export class Tied extends Error {}

export interface TagJob extends Counted {
  readonly id: string
  readonly key: string
}

const ROUNDING = 1e-6

/** Finds out whether both lines could choose another job each, because tags were equal. */
export class FamilyTies {
  readonly #memory: Driver
  readonly #redis: RedisDriver
  readonly #tag: string

  /** @param tag of the shard */
  constructor(memory: Driver, redis: RedisDriver, tag: string) {
    this.#memory = memory
    this.#redis = redis
    this.#tag = tag
  }

  /**
   * Whether the child below which the job went on Redis, or else in memory, had the same tag as that of the other job, or as another
   * one that has work.
   *
   * @param asked all jobs
   */
  async isTied(
    inMemory: TagJob | undefined,
    onRedis: TagJob | undefined,
    asked: readonly TagJob[],
    now: number,
  ): Promise<boolean> {
    const handed = new Set(this.#redis.handed.map(({ id }) => id))
    // Tags have moved by what was handed over, also by what goes only later.
    const ahead = asked.filter(({ id }) => handed.has(id))
    if (onRedis !== undefined) ahead.push(onRedis)
    // By what was handed over since, a child may have no more work.
    const left = inMemory === undefined ? [] : await this.#tagsOf(inMemory)
    for (const { total, others, ...own } of await this.#tagsOf((onRedis ?? inMemory)!)) {
      const limit = parseLimit((await this.#memory.family(total, now))!.limit)
      const isLike = (other: TaggedChild, which: 'tag' | 'by') =>
        Math.abs(tagBefore(other, which, ahead, limit) - tagBefore(own, which, ahead, limit)) < ROUNDING
      const same = left.filter((child) => child.total === total && child.name !== own.name)
      // Handing over ahead also raised the lowest tag that a child can have.
      for (const other of [...others, ...same]) if (isLike(other, 'tag') || isLike(other, 'by')) return true
    }
    return false
  }

  #tagsOf({ key }: TagJob) {
    return tagsOf(lookAt(), this.#tag, key)
  }
}

function tagBefore(
  { name, weight, ...child }: TaggedChild,
  which: 'tag' | 'by',
  jobs: readonly TagJob[],
  limit: Limit,
): number {
  const below = jobs.filter(({ key }) => key === name || (name.endsWith('/') && `${key}/`.startsWith(name)))
  return below.reduce((left, job) => left - useOf(limit, job) / weight, child[which])
}
