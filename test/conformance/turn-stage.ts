import { expect } from 'vitest'
import { MILLISECOND } from '../../src/core/duration.ts'
import type { JobRequest } from '../../src/line/job.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import type { FinishOutcome } from '../../src/redis/verbs/finish.ts'
import type { GateAnswer } from '../../src/redis/verbs/gate.ts'
import type { HandedJob } from '../../src/redis/verbs/handed-job.ts'
import { at } from '../support/backend-driver.ts'
import { recount } from '../support/recount.ts'
import { isTurnId } from '../support/turn-id.ts'
import { COMPLETED, RedisStage } from './redis-stage.ts'

/** For so long a place is kept for a process that says nothing; seconds. */
export const PLACE = 3.9
export const RETRY: FinishOutcome = { kind: 'retry', error: 'as planned', delay: 0 }

/** Turns and jobs on one line, which are named together; `~c~1` is a turn of the caller `c`. Times are seconds. */
export class TurnStage {
  readonly jobs: RedisStage
  readonly #callers: readonly string[]

  constructor(jobs: RedisStage, callers: readonly string[]) {
    this.jobs = jobs
    this.#callers = callers
  }

  static async open(limits: Parameters<typeof RedisStage.open>[0], callers = ['c']): Promise<TurnStage> {
    return new TurnStage(await RedisStage.open(limits), callers)
  }

  get backend() {
    return this.jobs.backend
  }

  get views() {
    return this.jobs.views
  }

  async admit(ids: string, seconds: number, part: Partial<JobRequest> = {}): Promise<void> {
    for (const id of ids.split(' ')) {
      const { admission } = await this.jobs.admit(id, seconds, part)
      expect(admission).toMatchObject({ accepted: true, id })
    }
    await this.adds()
  }

  /** What is handed over: jobs to the scheduler, turns to the inboxes. */
  async claim(seconds: number, { most = 200, lookAheadMs = 0 } = {}) {
    const claim = await this.jobs.claim(seconds, { most, lookAhead: lookAheadMs * MILLISECOND })
    await this.adds()
    const turns: string[] = []
    const all = new Map<string, HandedJob>()
    for (const caller of this.#callers) {
      for (const { id, epoch } of await this.backend.inboxes.next(0, caller, MILLISECOND)) {
        turns.push(id)
        all.set(id, { id, epoch })
      }
    }
    for (const { id, epoch } of claim.jobs) all.set(id, { id, epoch })
    return { ...claim, jobs: claim.jobs.map(({ id }) => id), turns, of: (id: string) => all.get(id)! }
  }

  async gate(handed: HandedJob, seconds: number): Promise<GateAnswer> {
    const answer = await this.jobs.gate(handed, seconds)
    await this.adds()
    return answer
  }

  /** Departs the head, which must be due; a turn has ended with it. */
  async run(seconds: number): Promise<HandedJob> {
    const { jobs, turns, of } = await this.claim(seconds)
    const handed = of([...turns, ...jobs][0]!)
    expect(await this.gate(handed, seconds)).toMatchObject({ kind: 'granted' })
    if (isTurnId(handed.id)) await this.depart(handed, seconds)
    else expect(await this.jobs.start(handed, seconds)).toBe(true)
    return handed
  }

  /** Its caller goes: the start is reported along with the end. */
  async depart(handed: HandedJob, seconds: number): Promise<void> {
    expect(await this.jobs.finish(handed, COMPLETED, seconds, seconds)).toMatchObject({ isMine: true })
    await this.adds()
  }

  async finish(handed: HandedJob, outcome: FinishOutcome, seconds: number) {
    const answer = await this.jobs.finish(handed, outcome, seconds)
    await this.adds()
    return answer
  }

  async leave(id: string, seconds: number) {
    const job = await this.backend.verbs.leave(id, at(seconds))
    await this.adds()
    return job
  }

  async recover(seconds: number) {
    const recovered = await this.jobs.recover(seconds)
    await this.adds()
    return recovered
  }

  /** In which of the sets of those that are due a bucket stands. */
  async placeOf(key = 'a'): Promise<string> {
    const { redis, tag } = this.jobs
    const places: string[] = []
    for (const name of ['due', 'turns'] as const) {
      if ((await redis.zscore(shardKey(tag, name), key)) !== null) places.push(name)
    }
    return places.join(' and ')
  }

  /** Every number adds up, and every bucket stands where it should. */
  async adds(): Promise<void> {
    expect(await recount(this.jobs.redis, this.jobs.tag)).toEqual([])
    await this.jobs.balances()
  }
}
