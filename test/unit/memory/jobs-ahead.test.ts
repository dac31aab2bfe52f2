import fc from 'fast-check'
import { expect, test } from 'vitest'
import { projectionOf } from '../../../src/core/bucket.ts'
import { SECOND } from '../../../src/core/duration.ts'
import { advance } from '../../../src/core/projection.ts'
import { RuleBook } from '../../../src/core/rule-book.ts'
import { MOST_NAMED, MOST_READ } from '../../../src/line/job-facts.ts'
import { JobRecord } from '../../../src/memory/store/job-record.ts'
import { aheadOf, type JobsAhead, positionOf } from '../../../src/memory/store/jobs-ahead.ts'
import { MemoryBucket } from '../../../src/memory/store/memory-bucket.ts'
import { request } from '../../support/memory-store.ts'

const rule = new RuleBook({ '*': '100000, 10/s' }).resolve('a')
const NOW = 100 * SECOND

interface Part {
  readonly kind: 'line' | 'turn' | 'retry' | 'back'
  readonly count: number
  readonly cost: number
  /** Seconds until its retries are ready. */
  readonly backoff: number
}

function bucketOf(parts: readonly Part[]): MemoryBucket {
  const bucket = new MemoryBucket('a', rule)
  let made = 0
  for (const { kind, count, cost, backoff } of parts) {
    for (let n = 0; n < count; n++) {
      const asked = request({ cost, ...(kind === 'turn' && { isTurn: true }) })
      const job = new JobRecord(`${kind}${made++}`, undefined, bucket, asked, 0)
      bucket.waiting += cost
      if (kind === 'line' || kind === 'turn') {
        bucket.join(job)
        continue
      }
      for (const state of ['handed', 'running', 'retrying'] as const) job.become(state)
      job.fence = made
      job.readyAt = NOW + backoff * SECOND
      if (kind === 'retry') bucket.rejoin(job)
      else bucket.rejoinFirst(job)
    }
  }
  return bucket
}

/** The same, by looking at all jobs before it one by one. */
function walkedTo(job: JobRecord): JobsAhead {
  const { bucket } = job
  const projection = projectionOf(bucket, NOW)
  const ids: string[] = []
  let [jobs, cost, together, needsHandler] = [0, 0, 0, job.isTurn !== true]
  const wait = (readyAt: number) => {
    advance(projection, bucket.limit, { cost: together })
    advance(projection, bucket.limit, { cost: 0, readyAt })
    together = 0
  }
  for (const other of bucket.inOrder(NOW)) {
    if (other === job) break
    if (ids.length < MOST_NAMED) ids.push(other.id)
    jobs++
    cost += other.cost
    needsHandler ||= other.isTurn !== true
    if (other.state === 'retrying' && other.readyAt !== undefined) wait(other.readyAt)
    together += other.cost
  }
  wait(job.readyAt ?? Number.NEGATIVE_INFINITY)
  const [head] = bucket.inOrder(NOW)
  return { jobs, cost, ids, needsHandler, head, departsAt: projection.slot }
}

const partOf = (...kinds: Part['kind'][]) =>
  fc.record({
    kind: fc.constantFrom(...kinds),
    count: fc.oneof(fc.integer({ min: 1, max: 15 }), fc.integer({ min: 1, max: 500 })),
    cost: fc.constantFrom(1, 1, 3),
    backoff: fc.constantFrom(-5, 0, 1, 30),
  })

const somewhere = fc.double({ min: 0, max: 0.999, noNaN: true })

function at<Item>(items: readonly Item[], part: number): Item {
  return items[Math.floor(part * items.length)]!
}

/** Handlers that ran when a bucket was frozen: more than that are not looked at one by one. */
const fewBack = fc.array(
  fc.record({
    kind: fc.constant('back' as const),
    count: fc.integer({ min: 1, max: 60 }),
    cost: fc.constantFrom(1, 3),
    backoff: fc.constant(0),
  }),
  { maxLength: 3 },
)

test('without retries, sums say what looking at each job says, at any depth', () => {
  fc.assert(
    fc.property(
      fc.array(partOf('line', 'turn'), { minLength: 1, maxLength: 5 }),
      fewBack,
      fc.array(somewhere, { minLength: 3, maxLength: 3 }),
      (line, back, places) => {
        const parts = [...line, ...back]
        const jobs = [...bucketOf(parts).inOrder(NOW)]
        for (const part of [...places, 0.999]) {
          const job = at(jobs, part)
          const walked = walkedTo(job)
          expect(aheadOf(job, NOW)).toEqual(walked)
          expect(positionOf(job, NOW)).toBe(walked.jobs + 1)
        }
      },
    ),
    { numRuns: 100 },
  )
})

test('with retries, they do so for the first 200 jobs, and deeper no position is too low', () => {
  fc.assert(
    fc.property(
      fc.array(partOf('line', 'retry', 'retry', 'back'), { minLength: 2, maxLength: 5 }),
      fc.array(somewhere, { minLength: 3, maxLength: 3 }),
      (parts, places) => {
        const jobs = [...bucketOf(parts).inOrder(NOW)]
        for (const part of [...places, 0.999]) {
          const job = at(jobs, part)
          const [ahead, walked] = [aheadOf(job, NOW), walkedTo(job)]
          if (walked.jobs < MOST_READ) expect(ahead).toEqual(walked)
          expect(ahead.jobs).toBeGreaterThanOrEqual(walked.jobs)
          expect(ahead.jobs).toBeLessThan(jobs.length)
          expect(positionOf(job, NOW)).toBe(ahead.jobs + 1)
        }
      },
    ),
    { numRuns: 100 },
  )
})

test('retries that are among the first 200 do not make the position of a deep job an estimate', () => {
  const jobs = bucketOf([
    { kind: 'retry', count: 50, cost: 1, backoff: 0 },
    { kind: 'line', count: 5_000, cost: 2, backoff: 0 },
  ])
  const all = [...jobs.inOrder(NOW)]
  for (const place of [199, 200, 201, 3_000, 5_049]) {
    expect(aheadOf(all[place]!, NOW)).toEqual(walkedTo(all[place]!))
  }
})

test('a turn behind jobs needs a handler, wherever these stand', () => {
  const turns: Part = { kind: 'turn', count: 1_000, cost: 1, backoff: 0 }
  const all = [...bucketOf([turns, { ...turns, kind: 'line', count: 1 }, turns]).inOrder(NOW)]
  expect([999, 1_000, 1_001].map((place) => aheadOf(all[place]!, NOW).needsHandler)).toEqual([
    false,
    true,
    true,
  ])
  const behindRetries = bucketOf([turns, { kind: 'retry', count: 1, cost: 1, backoff: 60 }])
  const deep = [...behindRetries.inOrder(NOW)].filter(({ isTurn }) => isTurn).at(-1)!
  expect(aheadOf(deep, NOW).needsHandler).toBe(true)
})
