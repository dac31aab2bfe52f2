import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import * as core from '../../../src/core/bucket.ts'
import { SECOND } from '../../../src/core/duration.ts'
import { RuleBook } from '../../../src/core/rule-book.ts'
import { judge } from '../../../src/core/verdict.ts'
import { viewOf } from '../../../src/memory/store/bucket-facts.ts'
import { JobRecord } from '../../../src/memory/store/job-record.ts'
import { positionOf } from '../../../src/memory/store/jobs-ahead.ts'
import { MemoryBucket } from '../../../src/memory/store/memory-bucket.ts'
import { nextDeparture } from '../../../src/memory/store/next-departure.ts'
import { request } from '../../support/memory-store.ts'

const rule = new RuleBook({ '*': '100, 1/s' }).resolve('a')

class Bench {
  readonly bucket = new MemoryBucket('a', rule)
  #made = 0

  newcomer(cost = 1): JobRecord {
    const job = new JobRecord(`n${this.#made++}`, undefined, this.bucket, request({ cost }), 0)
    this.bucket.join(job)
    return job
  }

  retry(readyAt: number, cost = 1): JobRecord {
    const job = this.#retrying(readyAt, cost)
    this.bucket.rejoin(job)
    return job
  }

  frozen(readyAt: number): JobRecord {
    const job = this.#retrying(readyAt, 1)
    this.bucket.rejoinFirst(job)
    return job
  }

  /** Lets everyone depart, each at the moment when it is due. */
  drain(): JobRecord[] {
    const order: JobRecord[] = []
    let now = 0
    while (this.bucket.jobs > 0) {
      now = Math.max(now, nextDeparture(this.bucket, now))
      const job = this.bucket.takeNext(now)
      core.reserve(this.bucket, job.cost, now)
      order.push(job)
    }
    return order
  }

  #retrying(readyAt: number, cost: number): JobRecord {
    const job = new JobRecord(`r${this.#made++}`, undefined, this.bucket, request({ cost }), 0)
    for (const state of ['handed', 'running', 'retrying'] as const) job.become(state)
    job.readyAt = readyAt
    return job
  }
}

const names = (jobs: Iterable<JobRecord>) => [...jobs].map(({ id }) => id)

describe('retries', () => {
  test('go before new jobs, but have only every second slot while new jobs wait', () => {
    const bench = new Bench()
    for (let n = 0; n < 3; n++) bench.newcomer()
    for (let n = 0; n < 5; n++) bench.retry(0)
    expect(bench.drain().map(({ id }) => id[0])).toEqual([...'rnrnrnrr'])
  })

  test('that are not ready are passed by', () => {
    const bench = new Bench()
    const [first, second, third] = [bench.newcomer(), bench.newcomer(), bench.newcomer()]
    const retry = bench.retry(1.5 * SECOND)
    expect(bench.drain()).toEqual([first, second, retry, third])
  })

  test('depart when they are ready if no other job waits', () => {
    const bench = new Bench()
    bench.retry(3 * SECOND)
    expect(nextDeparture(bench.bucket, 0)).toBe(3 * SECOND)
    bench.newcomer()
    expect(nextDeparture(bench.bucket, 0)).toBe(0)
  })

  test('that became ready together depart in the order in which they came back', () => {
    const bench = new Bench()
    const retries = Array.from({ length: 9 }, () => bench.retry(SECOND))
    expect(names(bench.bucket.inOrder())).toEqual(names(retries))
    expect(names(bench.drain())).toEqual(names(retries))
  })

  test('a retry that leaves is gone, and the last one frees their memory', () => {
    const bench = new Bench()
    const [gone, stays] = [bench.retry(0), bench.retry(SECOND)]
    bench.bucket.leave(gone)
    expect(bench.bucket.jobs).toBe(1)
    expect(bench.drain()).toEqual([stays])
    expect([bench.bucket.jobs, bench.bucket.retrying]).toEqual([0, 0])
  })

  test('a job that a freeze gave back goes first, whichever departed last', () => {
    const bench = new Bench()
    bench.retry(0)
    const newcomer = bench.newcomer()
    expect(bench.bucket.takeNext(0).id[0]).toBe('r')
    const frozen = bench.frozen(0)
    expect(bench.drain()).toEqual([frozen, newcomer])
  })

  test('jobs that a freeze gave back go before new jobs, and before failed ones', () => {
    const bench = new Bench()
    const failed = bench.retry(0)
    const newcomers = [bench.newcomer(), bench.newcomer()]
    const frozen = [bench.frozen(SECOND), bench.frozen(SECOND)]
    core.freeze(bench.bucket, SECOND)
    expect(names(bench.drain())).toEqual(names([...frozen, failed, ...newcomers]))
  })
})

const job = fc.record({
  kind: fc.constantFrom('newcomer', 'newcomer', 'retry'),
  cost: fc.integer({ min: 1, max: 3 }),
  readyAt: fc.integer({ min: 0, max: 12 }).map((seconds) => seconds * 0.5 * SECOND),
})

test('inOrder() yields the order in which takeNext() takes', () => {
  fc.assert(
    fc.property(fc.array(job, { maxLength: 30 }), fc.nat({ max: 3 }), (jobs, departed) => {
      const bench = new Bench()
      // The bucket has a slot of its own: without one, the first departure is unknown.
      core.freeze(bench.bucket, 0)
      for (const { kind, cost, readyAt } of jobs) {
        if (kind === 'retry') bench.retry(readyAt, cost)
        else bench.newcomer(cost)
      }
      for (let n = 0; n < departed && bench.bucket.jobs > 0; n++) {
        const now = nextDeparture(bench.bucket, 0)
        core.reserve(bench.bucket, bench.bucket.takeNext(now).cost, now)
      }
      const expected = names(bench.bucket.inOrder())
      for (const [index, job] of [...bench.bucket.inOrder()].entries()) {
        expect(positionOf(job, Number.NEGATIVE_INFINITY)).toBe(index + 1)
      }
      expect(names(bench.drain())).toEqual(expected)
    }),
    { numRuns: 1_000 },
  )
})

test('a new job departs no later than promised, and exactly then if every retry was ready', () => {
  fc.assert(
    fc.property(fc.array(job, { maxLength: 30 }), fc.nat({ max: 3 }), (jobs, departed) => {
      const bench = new Bench()
      core.freeze(bench.bucket, 0)
      for (const { kind, cost, readyAt } of jobs) {
        bench.bucket.waiting += cost
        if (kind === 'retry') bench.retry(readyAt, cost)
        else bench.newcomer(cost)
      }
      let now = 0
      for (let n = 0; n < departed && bench.bucket.jobs > 0; n++) {
        now = nextDeparture(bench.bucket, now)
        const { cost } = bench.bucket.takeNext(now)
        core.reserve(bench.bucket, cost, now)
        bench.bucket.waiting -= cost
      }
      const slot = core.nextSlot(bench.bucket, now)
      const retries = [...(bench.bucket.retries ?? [])]
      const verdict = judge(
        bench.bucket,
        { cost: 1, deadline: Infinity },
        now,
        bench.bucket.line(now),
        bench.bucket.retries,
      )
      const promised = verdict.accepted ? [bench.bucket.ahead(verdict.retriesAhead), verdict.departsAt] : []
      const newcomer = bench.newcomer()
      let position = 0
      for (now = slot; ; now = core.nextSlot(bench.bucket, now)) {
        const job = bench.bucket.takeNext(now)
        if (job === newcomer) break
        core.reserve(bench.bucket, job.cost, now)
        position++
      }
      if (retries.every(({ readyAt }) => readyAt <= slot)) expect(promised).toEqual([position, now])
      expect(promised[0]).toBeGreaterThanOrEqual(position)
      expect(promised[1]).toBeGreaterThanOrEqual(now)
    }),
    { numRuns: 1_000 },
  )
})

describe('the view', () => {
  test('shows the line, the retries, and the longest wait', () => {
    const bench = new Bench()
    bench.newcomer(2)
    bench.retry(4 * SECOND)
    bench.bucket.waiting = 3
    expect(viewOf(bench.bucket, 2 * SECOND)).toMatchObject({
      key: 'a',
      pattern: '*',
      limit: '100, 1/s',
      state: 'waiting',
      waiting: 3,
      capacity: 100,
      fill: 0.03,
      jobs: 1,
      retrying: 1,
      running: 0,
      nextDepartureAt: 2_000,
      oldestWaitMs: 2_000,
      paused: false,
    })
  })

  test('says paused before frozen before full before waiting before idle', () => {
    const { bucket } = new Bench()
    const stateAt = (now: number) => viewOf(bucket, now).state
    expect(stateAt(0)).toBe('idle')
    bucket.waiting = 1
    expect(stateAt(0)).toBe('waiting')
    bucket.waiting = 100
    expect(stateAt(0)).toBe('full')
    core.freeze(bucket, SECOND)
    expect([stateAt(SECOND - 1), stateAt(SECOND)]).toEqual(['frozen', 'full'])
    bucket.paused = true
    expect(stateAt(0)).toBe('paused')
  })
})
