import { expect, test } from 'vitest'
import {
  type Bucket,
  changeLimit,
  createBucket,
  depart,
  freeze,
  isIdle,
  leave,
  nextSlot,
  reserve,
  reserveDue,
  returnToLine,
  startedBy,
  unfreeze,
  unreserve,
} from '../../../src/core/bucket.ts'
import { parseLimit } from '../../../src/core/limit.ts'
import type { Retries, WaitingJob } from '../../../src/core/projection.ts'
import { admit, judge } from '../../../src/core/verdict.ts'

const MS = 1_000
const SECOND = 1_000_000
const FOREVER = Number.POSITIVE_INFINITY
const bucketOf = (limit: string) => createBucket(parseLimit(limit))
const one = { cost: 1, deadline: FOREVER }

/** Who waits with cost 1 and no backoff. */
const line = (length: number): WaitingJob[] => Array.from({ length }, () => ({ cost: 1, readyAt: -FOREVER }))

/** Starts every job that is due by `now`, each at its slot. */
function drain(bucket: Bucket, waiting: WaitingJob[], now: number): number[] {
  const slots: number[] = []
  while (waiting.length > 0 && nextSlot(bucket, -FOREVER) <= now) {
    const { cost } = waiting.shift()!
    const slot = reserve(bucket, cost, slots.length === 0 && bucket.next === -FOREVER ? now : bucket.next)
    depart(bucket, cost, slot)
    slots.push(slot)
  }
  return slots
}

test('of ten arrivals 100 ms apart, seven are accepted and three are rejected with the time when there is room', () => {
  const bucket = bucketOf('5, 2/s')
  const waiting: WaitingJob[] = []
  const departures: number[] = []
  const verdicts = Array.from({ length: 10 }, (_, n) => {
    const now = n * 100 * MS
    departures.push(...drain(bucket, waiting, now))
    const verdict = admit(bucket, one, now, waiting)
    if (verdict.accepted) waiting.push({ cost: 1, readyAt: now })
    departures.push(...drain(bucket, waiting, now))
    return verdict.accepted
      ? verdict.departsAt / MS
      : { waitMs: (verdict.retryAt - now) / MS, why: verdict.reason }
  })
  expect(verdicts).toEqual([
    0,
    500,
    1_000,
    1_500,
    2_000,
    2_500,
    3_000,
    { waitMs: 300, why: 'full' },
    { waitMs: 200, why: 'full' },
    { waitMs: 100, why: 'full' },
  ])
  departures.push(...drain(bucket, waiting, 10_000 * MS))
  expect(departures.map((slot) => slot / MS)).toEqual([0, 500, 1_000, 1_500, 2_000, 2_500, 3_000])
})

test('a new bucket departs immediately, and then an interval apart', () => {
  const bucket = bucketOf('5, 10/s')
  expect(nextSlot(bucket, 7)).toBe(7)
  expect([0, 0, 0].map((now) => reserve(bucket, 1, now) / MS)).toEqual([0, 100, 200])
  expect(reserve(bucket, 1, 1_000 * MS) / MS).toBe(1_000)
})

test('a slot that was given back is free again, unless another was reserved after it', () => {
  const bucket = bucketOf('5, 10/s')
  const first = reserve(bucket, 1, 0)
  const second = reserve(bucket, 2, 0)
  expect(unreserve(bucket, first, 1)).toBe(false)
  expect(bucket.next).toBe(300 * MS)
  expect(unreserve(bucket, second, 2)).toBe(true)
  expect(reserve(bucket, 1, 0)).toBe(second)
})

test('a change of limit counts from the slot before one that was given back', () => {
  const bucket = bucketOf('5, 10/s')
  depart(bucket, 3, reserve(bucket, 3, 0))
  const second = reserve(bucket, 1, 0)
  unreserve(bucket, second, 1)
  changeLimit(bucket, parseLimit('5, 1/s'), 0)
  // The start was on its slot; it might have been late by the tolerance, and the grid would still lie there.
  expect(bucket.next).toBe(2_995 * MS)
})

test('a slot that is given back after the limit was lowered leaves the distance from the last start', () => {
  const bucket = bucketOf('5, 10/s')
  depart(bucket, 1, reserve(bucket, 1, 0))
  const second = reserve(bucket, 1, 0)
  changeLimit(bucket, parseLimit('5, 1/s'), 0)
  expect(unreserve(bucket, second, 1)).toBe(true)
  expect(bucket.next).toBe(995 * MS)
})

test('lateness within the tolerance does not move the grid, beyond it the slot moves to now', () => {
  const bucket = bucketOf('5, 10/s')
  reserve(bucket, 1, 0)
  expect(reserveDue(bucket, 1, 100 * MS, 105 * MS)).toBe(100 * MS)
  expect(bucket.next).toBe(200 * MS)
  expect(reserveDue(bucket, 1, 200 * MS, 206 * MS)).toBe(206 * MS)
  expect(bucket.next).toBe(306 * MS)
})

test('a rejection changes nothing', () => {
  const bucket = bucketOf('2, 10/s')
  const waiting: WaitingJob[] = []
  for (const request of [{ cost: 2, deadline: FOREVER }, one, { cost: 3, deadline: FOREVER }]) {
    const before = { ...bucket }
    const verdict = admit(bucket, request, 0, waiting)
    if (verdict.accepted) waiting.push({ cost: request.cost, readyAt: 0 })
    else expect(bucket).toEqual(before)
  }
  expect(bucket.waiting).toBe(2)
})

test('a job that costs more than the capacity is never accepted', () => {
  expect(admit(bucketOf('2, 10/s'), { cost: 3, deadline: FOREVER }, 0, [])).toEqual({
    accepted: false,
    reason: 'too-costly',
    retryAt: FOREVER,
  })
})

test('a deadline that cannot be kept is rejected, and accepted as soon as it can be', () => {
  const bucket = bucketOf('9, 10/s')
  const request = (now: number) => ({ cost: 1, deadline: now + 150 * MS })
  for (const now of [0, 0]) expect(admit(bucket, request(now), now, [])).toMatchObject({ accepted: true })
  const refused = judge(bucket, request(0), 0, line(2))
  expect(refused).toEqual({ accepted: false, reason: 'deadline', retryAt: 50 * MS })
  // The head departs at 0, which moves no departure.
  reserve(bucket, 1, 0)
  depart(bucket, 1, 0)
  expect(judge(bucket, request(50 * MS - 1), 50 * MS - 1, line(1)).accepted).toBe(false)
  expect(judge(bucket, request(50 * MS), 50 * MS, line(1))).toMatchObject({
    accepted: true,
    departsAt: 200 * MS,
  })
})

test('a paused bucket takes jobs while there is room, but promises no deadline', () => {
  const bucket = { ...bucketOf('2, 10/s'), paused: true }
  expect(admit(bucket, one, 0, [])).toMatchObject({ accepted: true, departsAt: 0, isEstimate: true })
  expect(admit(bucket, { cost: 1, deadline: 500 * MS }, 0, line(1))).toEqual({
    accepted: false,
    reason: 'paused',
    retryAt: 100 * MS,
    isEstimate: true,
  })
  admit(bucket, one, 0, line(1))
  expect(judge(bucket, one, 0, line(2))).toMatchObject({
    accepted: false,
    reason: 'paused',
    isEstimate: true,
  })
})

test('a retry keeps its place: new jobs are rejected until it has departed', () => {
  const bucket = bucketOf('1, 10/s')
  admit(bucket, one, 0, [])
  reserve(bucket, 1, 0)
  depart(bucket, 1, 0)
  returnToLine(bucket, 1)
  const backsOff = [{ cost: 1, readyAt: 700 * MS }]
  expect(judge(bucket, one, 10, backsOff)).toEqual({ accepted: false, reason: 'full', retryAt: 700 * MS })
  returnToLine(bucket, 1)
  expect(bucket.waiting).toBe(2)
})

test('a job that left makes room, and the jobs behind it move up', () => {
  const bucket = bucketOf('2, 10/s')
  admit(bucket, one, 0, [])
  admit(bucket, one, 0, line(1))
  leave(bucket, 1)
  expect(admit(bucket, one, 0, line(1))).toMatchObject({ accepted: true, departsAt: 100 * MS })
})

test('no job departs before a freeze ends, and a shorter freeze does not shorten it', () => {
  const bucket = bucketOf('2, 10/s')
  freeze(bucket, 500)
  freeze(bucket, 300)
  expect(nextSlot(bucket, 400)).toBe(500)
  expect(admit(bucket, one, 0, [])).toMatchObject({ accepted: true, departsAt: 500 })
  freeze(bucket, 900)
  expect(reserve(bucket, 1, 0)).toBe(900)
})

test('after an unfreeze departures continue at the rate', () => {
  const bucket = bucketOf('9, 10/s')
  reserve(bucket, 1, 0)
  freeze(bucket, 900 * MS)
  unfreeze(bucket)
  expect(nextSlot(bucket, 40 * MS)).toBe(100 * MS)
  expect(nextSlot(bucket, 140 * MS)).toBe(140 * MS)
})

test('a new limit counts from the last slot, and from a start that was late for it', () => {
  const bucket = bucketOf('9, 10/s')
  changeLimit(bucket, parseLimit('9, 20/s'), 0)
  expect(nextSlot(bucket, 3)).toBe(3)
  reserve(bucket, 2, 0)
  depart(bucket, 2, 0)
  changeLimit(bucket, parseLimit('9, 1/s'), 0)
  expect(bucket.next).toBe(2_000 * MS)
  changeLimit(bucket, parseLimit('9, 100/s'), 0)
  expect(bucket.next).toBe(20 * MS)
  depart(bucket, 2, 4 * MS)
  changeLimit(bucket, parseLimit('9, 1000/s'), 0)
  expect(bucket.next).toBe(3.75 * MS + 2 * MS)
})

test('a lowered capacity drops no job and rejects new ones until drained', () => {
  const bucket = bucketOf('3, 10/s')
  for (let n = 0; n < 3; n++) admit(bucket, one, 0, line(n))
  changeLimit(bucket, parseLimit('1, 10/s'), 0)
  expect(bucket.waiting).toBe(3)
  expect(judge(bucket, one, 0, line(3))).toEqual({ accepted: false, reason: 'full', retryAt: 200 * MS })
})

test('a bucket is idle when no job waits and it equals a new one', () => {
  const bucket = bucketOf('3, 10/s')
  expect(isIdle(bucket, 0)).toBe(true)
  admit(bucket, one, 0, [])
  expect(isIdle(bucket, 0)).toBe(false)
  reserve(bucket, 1, 0)
  depart(bucket, 1, 0)
  expect(isIdle(bucket, 99 * MS)).toBe(false)
  expect(isIdle(bucket, 100 * MS)).toBe(true)
  freeze(bucket, 200 * MS)
  expect(isIdle(bucket, 100 * MS)).toBe(false)
  expect(isIdle({ ...bucket, paused: true }, 300 * MS)).toBe(false)
})

test('a rejection from a very long line looks at a bounded part of it, and its time is never too early', () => {
  const bucket = bucketOf('10, 10/s')
  reserve(bucket, 1, 0)
  bucket.waiting = 5_000
  let looked = 0
  const endless = {
    *[Symbol.iterator]() {
      for (;;) {
        looked++
        yield { cost: 1 }
      }
    },
  }
  const verdict = judge(bucket, one, 0, endless, undefined, 5_000)
  expect(looked).toBeLessThanOrEqual(101)
  // 4,991 have to depart; the last of them at 499.1 s.
  expect(verdict).toEqual({ accepted: false, reason: 'full', retryAt: expect.closeTo(499_100 * MS, -3) })
  // Where some may cost more, so may the one that makes room.
  for (const size of [undefined, 4_000]) {
    expect(judge(bucket, one, 0, endless, undefined, size)).toEqual({ ...verdict, isEstimate: true })
  }
})

test('a rejection that more than a hundred jobs decide about lasts until all missing units but one have departed', () => {
  const waiting: WaitingJob[] = [
    ...Array.from({ length: 150 }, () => ({ cost: 3 })),
    ...Array.from({ length: 10 }, (_, n) => ({ cost: 2, readyAt: n * SECOND })),
  ]
  const roomFor = (missing: number, jobs: readonly WaitingJob[]) => {
    const units = jobs.reduce((sum, { cost }) => sum + cost, 0)
    const bucket = { ...bucketOf(`${units + 1 - missing}, 10/s`), waiting: units }
    reserve(bucket, 1, 0)
    const verdict = judge(bucket, one, 0, jobs, retriesOf(jobs))
    return verdict.accepted ? undefined : (verdict.retryAt - bucket.next) / (100 * MS)
  }
  expect(roomFor(298, waiting)).toBe(297)
  expect(roomFor(300, waiting)).toBe(297)
  // The next one departs after 300 units: here it is only known that each costs one unit at least.
  expect(roomFor(302, waiting)).toBe(301)
  // The line ends before that, and the last retry is ready after an hour.
  const late = { cost: 5, readyAt: 3_600 * SECOND }
  const short = [...waiting.slice(0, 110), late]
  expect(roomFor(320, short)).toBe(319)
  expect(roomFor(332, short)).toBeCloseTo(35_999 + 31, 6)
})

test('which of more than a hundred jobs departs first does not matter where each costs 1 and enough of them wait only for their slots', () => {
  const waiting: WaitingJob[] = [
    ...Array.from({ length: 150 }, () => ({ cost: 1 })),
    ...Array.from({ length: 10 }, () => ({ cost: 1, readyAt: 3_600 * SECOND })),
  ]
  const roomFor = (missing: number, jobs: readonly WaitingJob[]) => {
    const units = jobs.reduce((sum, { cost }) => sum + cost, 0)
    const bucket = { ...bucketOf(`${units + 1 - missing}, 10/s`), waiting: units }
    reserve(bucket, 1, 0)
    const verdict = judge(bucket, one, 0, jobs, retriesOf(jobs), jobs.length)
    return !verdict.accepted && [(verdict.retryAt - bucket.next) / (100 * MS), verdict.isEstimate]
  }
  expect(roomFor(150, waiting)).toEqual([149, undefined])
  expect(roomFor(151, waiting)).toEqual([expect.closeTo(36_049, 6), true])
  expect(roomFor(150, [...waiting, { cost: 2 }])).toEqual([149, true])
})

const retriesOf = (waiting: readonly WaitingJob[]): Retries => {
  const all = waiting.flatMap(({ cost, readyAt }) => (readyAt === undefined ? [] : [{ cost, readyAt }]))
  return {
    size: all.length,
    units: all.reduce((sum, { cost }) => sum + cost, 0),
    gaps: waiting.length - all.length + 1,
    latest: () => Math.max(...all.map(({ readyAt }) => readyAt)),
    [Symbol.iterator]: () => all[Symbol.iterator](),
  }
}

test('a new job departs after the retries that are ready by then, at most one for each job in the line', () => {
  const behind = (waiting: readonly WaitingJob[]) => {
    const bucket = bucketOf('1000, 10/s')
    reserve(bucket, 1, 0)
    bucket.waiting = waiting.reduce((sum, { cost }) => sum + cost, 0)
    const verdict = judge(bucket, one, 0, waiting, retriesOf(waiting))
    return verdict.accepted && [verdict.departsAt / MS, verdict.retriesAhead]
  }
  const job = { cost: 2 }
  expect(behind([])).toEqual([100, 0])
  expect(behind([job, { cost: 3, readyAt: 300 * MS }])).toEqual([600, 1])
  expect(behind([job, { cost: 3, readyAt: 301 * MS }])).toEqual([300, 0])
  // The first lets the second become ready in time.
  expect(behind([job, { cost: 3, readyAt: 300 * MS }, { cost: 1, readyAt: 600 * MS }])).toEqual([700, 2])
  const ready = (count: number) => Array.from({ length: count }, () => ({ cost: 1, readyAt: 0 }))
  expect(behind(ready(5))).toEqual([200, 1])
  expect(behind([job, ...ready(5)])).toEqual([500, 2])
  // So many are not looked at one by one.
  const line = Array.from({ length: 200 }, () => ({ cost: 1 }))
  expect(behind([...line, ...ready(100)])).toEqual([100 + 300 * 100, 100])
  expect(behind([...line, ...ready(150)])).toEqual([100 + 350 * 100, 150])
  expect(behind([...line.slice(50), ...ready(250)])).toEqual([100 + 400 * 100, 151])
})

test('a start that turns out to be within the tolerance of its slot does not move the grid', () => {
  const bucket = bucketOf('5, 10/s')
  bucket.next = 100 * MS
  expect(reserveDue(bucket, 1, 100 * MS, 101 * MS)).toBe(100 * MS)
  depart(bucket, 1, 101 * MS)
  expect(startedBy(bucket, 100 * MS, true, 105 * MS)).toBe(false)
  expect(bucket).toMatchObject({ next: 200 * MS, lastStart: 105 * MS })
})

test('a start that turns out to be later moves the grid to where it may have begun', () => {
  const bucket = bucketOf('5, 10/s')
  bucket.next = 100 * MS
  reserveDue(bucket, 2, 100 * MS, 101 * MS)
  depart(bucket, 2, 101 * MS)
  expect(startedBy(bucket, 100 * MS, true, 106 * MS)).toBe(true)
  expect(bucket).toMatchObject({ next: 306 * MS, lastStart: 106 * MS })
})

test('a grid that began with a start, or has no tolerance, moves with every lateness', () => {
  const idle = bucketOf('5, 10/s')
  expect(reserveDue(idle, 1, 100 * MS, 101 * MS)).toBe(101 * MS)
  depart(idle, 1, 101 * MS)
  expect(startedBy(idle, 101 * MS, false, 102 * MS)).toBe(true)
  expect(idle.next).toBe(202 * MS)
  const strict = bucketOf('5, 10/s, tolerance 0')
  strict.next = 100 * MS
  reserveDue(strict, 1, 100 * MS, 100 * MS)
  depart(strict, 1, 100 * MS)
  expect(startedBy(strict, 100 * MS, true, 100 * MS + 1)).toBe(true)
  expect(strict.next).toBe(200 * MS + 1)
})

test('a bucket whose start turns out to be late has cooled, and one that its handler froze is cold', () => {
  const warm = bucketOf('5, 10/s, warm-up 3s')
  Object.assign(warm, { next: 100 * MS, warmth: 2_000 * MS })
  reserveDue(warm, 1, 100 * MS, 100 * MS)
  depart(warm, 1, 100 * MS)
  const frozen = { ...warm }
  const before = warm.next
  expect(startedBy(warm, 100 * MS, true, 600 * MS)).toBe(true)
  expect(warm.startedWarmth).toBe(1_500 * MS)
  expect(warm.next).toBeGreaterThan(before + 500 * MS)
  expect(warm.warmth).toBeGreaterThan(1_500 * MS)
  freeze(frozen, 900 * MS)
  expect(startedBy(frozen, 100 * MS, true, 600 * MS)).toBe(true)
  expect(frozen.warmth).toBe(0)
})
