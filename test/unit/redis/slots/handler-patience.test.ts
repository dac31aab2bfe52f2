import { expect, test } from 'vitest'
import { MILLISECOND, SECOND } from '../../../../src/core/duration.ts'
import { HandlerPatience } from '../../../../src/redis/slots/handler-patience.ts'

const NOON = 1_800_000_000 * SECOND
const job = (id: string, key = 'quick') => ({ id, key })
/** A worker whose handlers are all taken; `has` is what has its share of them. */
const patienceOf = (has = 'slow', onRested: () => void = () => undefined, free = 0) =>
  new HandlerPatience({ free, lacks: (key) => free === 0 && key !== has }, onRested)

/** How long the job waits that comes now; milliseconds. It goes back then. */
function stay(patience: HandlerPatience, id: string, now: number): number {
  const until = Math.max(now, patience.until(job(id), now))
  patience.goesBack(job(id), now, until)
  return (until - now) / MILLISECOND
}

test('a job whose segment has its share waits for a second', () => {
  const patience = patienceOf()
  expect(patience.until(job('a', 'slow'), NOON)).toBe(NOON + SECOND)
  patience.moved(NOON)
  expect(patience.until(job('a', 'slow'), NOON)).toBe(NOON + SECOND)
  expect(patience.goesBack(job('a'), NOON, NOON + SECOND)).toBe(false)
})

test('one whose segment has less does not wait where no handler moves', () => {
  const patience = patienceOf()
  expect(patience.until(job('a'), NOON)).toBeLessThanOrEqual(NOON)
  expect(patience.goesBack(job('a'), NOON, NOON)).toBe(true)
})

test('it waits while handlers start or end, for a second at most', () => {
  const patience = patienceOf()
  patience.moved(NOON - 20 * MILLISECOND)
  expect(patience.until(job('a'), NOON)).toBe(NOON + 480 * MILLISECOND)
  patience.moved(NOON + 400 * MILLISECOND)
  expect(patience.until(job('a'), NOON)).toBe(NOON + 900 * MILLISECOND)
  patience.moved(NOON + 990 * MILLISECOND)
  expect(patience.until(job('a'), NOON)).toBe(NOON + SECOND)
  expect(patience.goesBack(job('a'), NOON, NOON + SECOND)).toBe(false)
})

test('each time it comes again it waits longer, for a second at most', () => {
  const patience = patienceOf()
  let now = NOON
  const stays = Array.from({ length: 18 }, () => {
    const ms = stay(patience, 'a', now)
    now += ms * MILLISECOND + 10 * MILLISECOND
    return ms
  })
  expect(stays.slice(0, 4)).toEqual([0, 5, 7.5, 11.25])
  for (const [n, ms] of stays.entries()) {
    if (n > 1) expect(ms).toBeCloseTo(Math.min(1_000, stays[n - 1]! * 1.5), 2)
  }
  expect(stays.at(-1)).toBe(1_000)
  expect(stay(patience, 'b', now)).toBe(0)
})

test('in one second a job without any handler is given back thirteen times', () => {
  const patience = patienceOf()
  let returns = 0
  for (let now = NOON; now < NOON + SECOND; returns++) now += stay(patience, 'a', now) * MILLISECOND + 1
  expect(returns).toBe(13)
})

test('however many jobs come, a hundred a second go back before their time', () => {
  const patience = patienceOf()
  const times = Array.from({ length: 100 }, (_, n) => stay(patience, `j${n}`, NOON))
  expect(times.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 0))
  expect(times.slice(10)).toEqual(Array.from({ length: 90 }, (_, n) => 10 * (n + 1)))
  expect(stay(patience, 'later', NOON + 2 * SECOND)).toBe(0)
})

test('what went back is forgotten after ten seconds, and the memory is bounded', () => {
  const patience = patienceOf()
  for (let n = 0; n < 5_000; n++) patience.goesBack(job(`j${n}`), NOON, NOON)
  expect(patience.size).toBe(1_000)
  patience.goesBack(job('k'), NOON, NOON + 10 * SECOND)
  expect(patience.size).toBe(1)
})

test('after a job went back at once the worker rests for half a second, or until a handler moves', () => {
  const patience = patienceOf()
  expect(patience.restUntil).toBeLessThan(NOON)
  patience.goesBack(job('a'), NOON, NOON)
  expect(patience.restUntil).toBe(NOON + SECOND / 2)
  patience.moved(NOON + MILLISECOND)
  expect(patience.restUntil).toBeLessThan(NOON)
})

test('after a job has waited for a second the worker rests as well, unless it has a handler free that is kept for others', () => {
  const full = patienceOf()
  expect(full.goesBack(job('b', 'slow'), NOON, NOON + SECOND)).toBe(false)
  expect(full.restUntil).toBe(NOON + 1.5 * SECOND)
  // It comes again, by a delivery that was under way.
  expect(full.until(job('b', 'slow'), NOON + 1.1 * SECOND)).toBe(NOON + 1.1 * SECOND + 5 * MILLISECOND)
  expect(full.until(job('c', 'slow'), NOON + 1.1 * SECOND)).toBe(NOON + 2.1 * SECOND)
  const keeps = patienceOf('slow', undefined, 1)
  keeps.goesBack(job('b', 'slow'), NOON, NOON + SECOND)
  expect(keeps.restUntil).toBeLessThan(NOON)
})

test('a job from which free handlers are withheld goes back where no handler moves, and the worker takes others', () => {
  const keeps = patienceOf('slow', undefined, 1)
  keeps.moved(NOON - 20 * MILLISECOND)
  expect(keeps.until(job('a', 'slow'), NOON)).toBe(NOON + 480 * MILLISECOND)
  expect(keeps.goesBack(job('a', 'slow'), NOON, NOON + 480 * MILLISECOND)).toBe(true)
  expect(keeps.restUntil).toBeLessThan(NOON)
  const again = NOON + 500 * MILLISECOND
  expect(keeps.until(job('a', 'slow'), again)).toBe(again + 5 * MILLISECOND)
})

test('a rest that ends before its time is reported', () => {
  let ends = 0
  const patience = patienceOf('slow', () => ends++)
  patience.goesBack(job('a'), NOON, NOON)
  expect(ends).toBe(0)
  patience.moved(NOON + MILLISECOND)
  expect(ends).toBe(1)
  for (let n = 0; n < 5; n++) patience.goesBack(job('b'), NOON + SECOND, NOON + SECOND)
  expect(ends).toBe(1)
  patience.goesBack(job('b'), NOON + SECOND, NOON + SECOND)
  expect(ends).toBe(2)
})

test('where a job comes for the sixth time the others are no better, and it does not rest for a second', () => {
  const patience = patienceOf()
  const again = NOON + 10 * MILLISECOND
  for (let n = 0; n < 5; n++) patience.goesBack(job('a'), again, again)
  expect(patience.restUntil).toBe(again + SECOND / 2)
  patience.goesBack(job('a'), again, again)
  expect(patience.restUntil).toBeLessThan(NOON)
  patience.goesBack(job('b'), again + SECOND / 2, again + SECOND / 2)
  expect(patience.restUntil).toBeLessThan(NOON)
  patience.goesBack(job('c'), again + SECOND, again + SECOND)
  expect(patience.restUntil).toBe(again + 1.5 * SECOND)
})
