import fc from 'fast-check'
import { expect, test } from 'vitest'
import { at, request } from '../support/backend-driver.ts'
import { recount } from '../support/recount.ts'
import { BACK, COMPLETED, RedisStage } from './redis-stage.ts'

const LOOK_AHEAD_MS = 100

/** A line over several blocks, and the order that it must have. */
class DeepLine {
  readonly stage: RedisStage
  #order: string[] = []
  #made = 0
  #seconds = 0

  constructor(stage: RedisStage) {
    this.stage = stage
  }

  async admit(count: number): Promise<void> {
    const ids = Array.from({ length: count }, () => `j${this.#made++}`)
    const asked = ids.map((id) => ({ ...request(id), deadline: Number.POSITIVE_INFINITY }))
    const answers = await this.stage.backend.verbs.admitMany(asked, this.#now)
    const positions = answers.map(({ admission }) => admission.accepted && admission.position)
    expect(positions).toEqual(ids.map((_, index) => this.#order.length + index + 1))
    this.#order.push(...ids)
  }

  /** Cancels a stretch: `from` and `share` are parts of the line. */
  async cancel(from: number, count: number): Promise<void> {
    for (const id of this.#order.splice(Math.floor(from * this.#order.length), count)) {
      expect(await this.stage.backend.verbs.cancel(id, this.#now)).toMatchObject({ id })
    }
  }

  async depart(count: number): Promise<void> {
    for (let n = 0; n < count && this.#order.length > 0; n++) {
      this.#seconds += 0.001
      const job = await this.stage.run(this.#seconds)
      expect(job.id).toBe(this.#order.shift())
      await this.stage.finish(job, COMPLETED, this.#seconds)
    }
  }

  /** Hands some over, cancels some of them, and has the others come back. */
  async comeBack(cancelled: number): Promise<void> {
    this.#seconds += 0.001
    const jobs = await this.stage.hand(this.#seconds, LOOK_AHEAD_MS)
    expect(jobs.map(({ id }) => id)).toEqual(this.#order.slice(0, jobs.length))
    const most = Math.max(0, Math.min(cancelled, jobs.length - 1))
    await this.cancel(0, most)
    if (jobs.length > 0) await this.stage.finish(jobs[most]!, BACK, this.#seconds)
    await this.cancel(0, cancelled)
  }

  async isInOrder(): Promise<void> {
    const { jobs = [], total = 0 } = (await this.stage.views.line('a', 200, this.#now)) ?? {}
    expect([total, jobs.map(({ id }) => id)]).toEqual([this.#order.length, this.#order.slice(0, 200)])
    for (const part of [0, 0.3, 0.7, 0.999]) {
      const index = Math.floor(part * this.#order.length)
      const id = this.#order[index]
      if (id !== undefined)
        expect(await this.stage.views.job(id, this.#now)).toMatchObject({ position: index + 1 })
    }
    expect(await recount(this.stage.redis, this.stage.tag)).toEqual([])
  }

  get #now(): number {
    return at(this.#seconds)
  }
}

const step = fc.oneof(
  fc.record({ verb: fc.constant('admit' as const), count: fc.integer({ min: 1, max: 600 }) }),
  fc.record({
    verb: fc.constant('cancel' as const),
    from: fc.double({ min: 0, max: 1, noNaN: true }),
    count: fc.integer({ min: 1, max: 150 }),
  }),
  fc.record({ verb: fc.constant('depart' as const), count: fc.integer({ min: 1, max: 80 }) }),
  fc.record({ verb: fc.constant('comeBack' as const), count: fc.nat({ max: 3 }) }),
)

test('a line over several blocks keeps its order, its positions and its counts, whichever jobs leave it and come back', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 5 }), async (steps) => {
      const line = new DeepLine(await RedisStage.open('100000, 1000/s', { keepFinished: 0 }))
      await line.admit(700)
      for (const step of steps) {
        if (step.verb === 'admit') await line.admit(step.count)
        else if (step.verb === 'cancel') await line.cancel(step.from, step.count)
        else if (step.verb === 'depart') await line.depart(step.count)
        else await line.comeBack(step.count)
        await line.isInOrder()
      }
    }),
    { numRuns: 3, endOnFailure: true },
  )
})

test('a line of which a block is missing is refused, and no other is handed over in its place', async () => {
  const stage = await RedisStage.open('100000, 1000/s')
  const line = new DeepLine(stage)
  await line.admit(600)
  await stage.redis.rename(`${stage.tag}:line:1`, `${stage.tag}:aside`)
  expect((await stage.claim(1)).jobs).toEqual([])
  await expect(stage.admit('new', 1)).rejects.toMatchObject({ code: 'backend-unavailable' })
  await expect(stage.backend.verbs.cancel('j3', at(1))).rejects.toMatchObject({ code: 'backend-unavailable' })
  await stage.redis.rename(`${stage.tag}:aside`, `${stage.tag}:line:1`)
  await line.isInOrder()
})
