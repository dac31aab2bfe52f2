import { expect, test } from 'vitest'
import { checkHistory } from '../../../src/conformance/conformance.ts'
import type { FairChild } from '../../../src/core/fair-queue.ts'
import { parseLimit } from '../../../src/core/limit.ts'
import { Total, type TotalledBucket, useOf } from '../../../src/core/total.ts'
import { nextUnder, stand } from '../../../src/core/total-departures.ts'
import { FamilyLine } from '../../support/family-line.ts'

const SECOND = 1_000_000
const jobs = (
  count: number,
  job: { readonly cost: number; readonly costs?: Record<string, number> } = { cost: 1 },
) => Array.from({ length: count }, () => job)
const breaches = (line: FamilyLine) => checkHistory(line.history, { unfinished: true })

test('a flood of one of a thousand children does not make the others wait', () => {
  const waits = (withFlood: boolean) => {
    const line = new FamilyLine({ 'a/': '100000, 100/s' }, () => '100000, 50/s')
    if (withFlood) line.enqueue('a/flood', ...jobs(10_000))
    // Each has a job about each twelve seconds: together they need five sixths of the total.
    for (let nth = 0; nth < 999; nth++) {
      for (let round = 0; round < 2; round++) {
        line.after((round * 999 + ((nth * 367) % 999)) * 12_000, () => line.enqueue(`a/${nth}`, { cost: 1 }))
      }
    }
    line.run(line.now + 30 * SECOND)
    const since = new Map<string, number>()
    const found: number[] = []
    for (const event of line.history) {
      if (event.type === 'answer' && event.key !== 'a/flood') since.set(event.id, event.at)
      if (event.type === 'start' && event.key !== 'a/flood') found.push(event.at - since.get(event.id)!)
    }
    expect(found).toHaveLength(999 * 2)
    if (withFlood) expect(breaches(line)).toEqual([])
    return Math.max(...found)
  }
  // Within a round of those who have work at a time, and not of all.
  expect(waits(true) - waits(false)).toBeLessThanOrEqual(10 * 10_000)
})

test('a total keeps its pace to the microsecond while there is work', () => {
  const line = new FamilyLine({ 'a/': '100000, 30/s, tolerance 0' }, () => '1000, 4/s')
  for (let nth = 0; nth < 20; nth++) line.enqueue(`a/${nth}`, ...jobs(30))
  line.run(line.now + 20 * SECOND - 1)
  expect(line.startedOf('a/')).toBe(600)
  expect(breaches(line)).toEqual([])
})

test('a total whose children may do more together is enforced', () => {
  const line = new FamilyLine(
    { 'a/': '10000, 10/s', 'a/x/': '10000, 100/s', 'a/y/': '10000, 100/s' },
    () => '1000, 100/s',
  )
  for (const key of ['a/x/1', 'a/x/2', 'a/y/1']) line.enqueue(key, ...jobs(200))
  line.run(line.now + 10 * SECOND - 1)
  expect(line.startedOf('a/')).toBe(100)
  // Families share as children do: two keys of one of them have half together.
  expect(line.startedOf('a/y/')).toBe(50)
  expect(line.startedOf('a/x/1')).toBe(25)
  expect(breaches(line)).toEqual([])
})

test('a large job for which a total has no room is waited for', () => {
  const line = new FamilyLine({ 'a/': '10000, 100/s, 20/second' }, () => '1000, 100/s')
  line.enqueue('a/small', ...jobs(500))
  line.run(line.now + 100_000)
  line.enqueue('a/large', { cost: 15 })
  line.run(line.now + 3 * SECOND)
  expect(line.startedOf('a/large')).toBe(15)
  expect(breaches(line)).toEqual([])
})

test('a job that has no room in a total does not hold back one that joins before it, also further in', () => {
  const line = new FamilyLine({ 'a/': '10000, 100/s, 10/second', 'a/x/': '10000, 100/s' }, (key) =>
    key === 'a/x/paced' ? '1000, 2/s' : '1000, 100/s',
  )
  line.enqueue('a/other', { cost: 5 })
  line.enqueue('a/x/paced', ...jobs(2))
  line.run(line.now + 100_000)
  line.enqueue('a/x/large', { cost: 8 })
  line.run(line.now + 600_000)
  expect(line.startedOf('a/x/paced')).toBe(2)
  expect(line.startedOf('a/x/large')).toBe(0)
  line.run(line.now + SECOND)
  expect(line.startedOf('a/x/large')).toBe(8)
  expect(breaches(line)).toEqual([])
})

test('a child that is not frozen any more takes part from when the total lets one go', () => {
  const line = new FamilyLine({ 'a/': '10000, 1/s' }, () => '1000, 100/s')
  line.enqueue('a/frozen', ...jobs(5))
  line.freeze('a/frozen', line.now + 100_000)
  line.enqueue('a/other', ...jobs(5))
  line.run(line.now + 500_000)
  line.run(line.now + 499_999)
  expect(line.total('a/').queue.size).toBe(1)
  line.run(line.now + 1)
  expect(line.total('a/').queue.size).toBe(2)
})

test('a child whose freeze is over while it has no free place takes part from when it has one', () => {
  const line = new FamilyLine({ 'a/': '10000, 100/s' }, () => '1000, 100/s, 1 at once', {
    runs: () => SECOND,
  })
  line.enqueue('a/frozen', ...jobs(2))
  line.run(line.now)
  line.freeze('a/frozen', line.now + 100_000)
  line.run(line.now + 500_000)
  expect(line.total('a/').queue.size).toBe(0)
  line.run(line.now + 500_000)
  expect(line.startedOf('a/frozen')).toBe(2)
  expect(breaches(line)).toEqual([])
})

test('a total that is next and below which all were moved away holds nothing back', () => {
  const limit = parseLimit('100, 10/s, 100/day')
  const above = new Total({ pattern: 'a/', path: 'a/', limit, parent: undefined })
  const empty = new Total({ pattern: 'a/x/', path: 'a/x/', limit, parent: above })
  above.queue.join(empty, 1)
  expect(above.isOpen(0)).toBe(true)
  expect(above.dueAt(0)).toBe(Number.POSITIVE_INFINITY)
})

test('a child at its own limit costs the others nothing', () => {
  const line = new FamilyLine({ 'a/': '10000, 10/s' }, (key) =>
    key === 'a/slow' ? '1000, 1 per 10 s' : '1000, 10/s',
  )
  line.enqueue('a/slow', ...jobs(50))
  line.enqueue('a/frozen', ...jobs(50))
  line.freeze('a/frozen', line.now + 3_600 * SECOND)
  line.enqueue('a/other', ...jobs(500))
  line.run(line.now + 20 * SECOND - 1)
  expect(line.startedOf('a/slow')).toBe(2)
  expect(line.startedOf('a/other')).toBe(198)
})

test('a child without a free place is passed over until it has one', () => {
  const line = new FamilyLine(
    { 'a/': '10000, 10/s' },
    (key) => (key === 'a/full' ? '1000, 10/s, 1 at once' : '1000, 10/s'),
    { runs: () => SECOND },
  )
  line.enqueue('a/full', ...jobs(50))
  line.enqueue('a/other', ...jobs(500))
  line.run(line.now + 10 * SECOND - 1)
  expect(line.startedOf('a/full')).toBeGreaterThanOrEqual(9)
  expect(line.startedOf('a/')).toBe(100)
  expect(breaches(line)).toEqual([])
})

test('a total without a free place waits for one, with all below it', () => {
  const line = new FamilyLine({ 'a/': '10000, 100/s, 3 at once' }, () => '1000, 100/s', {
    runs: () => 100_000,
  })
  for (const key of ['a/1', 'a/2']) line.enqueue(key, ...jobs(500))
  line.run(line.now + 10 * SECOND - 1)
  expect(line.startedOf('a/')).toBeGreaterThanOrEqual(290)
  expect(Math.abs(line.startedOf('a/1') - line.startedOf('a/2'))).toBeLessThanOrEqual(1)
  expect(breaches(line)).toEqual([])
})

test('few calls with many tokens use as much as many with few', () => {
  const line = new FamilyLine({ 'a/': '10000, 100/s, 100000 tokens/second 1000 each' }, () => '1000, 100/s')
  line.enqueue('a/large', ...jobs(1_000, { cost: 1, costs: { tokens: 10_000 } }))
  line.enqueue('a/small', ...jobs(1_000, { cost: 1, costs: { tokens: 100 } }))
  line.run(line.now + 10 * SECOND - 1)
  const [large, small] = [line.startedOf('a/large'), line.startedOf('a/small')]
  // A small call uses a hundredth of the calls of a second, and a large one a tenth of its tokens.
  expect(small / large).toBeGreaterThan(9)
  expect(small / large).toBeLessThan(11)
  expect(breaches(line)).toEqual([])
})

test('a family that is frozen or paused leaves the total to the others, and has its share again afterwards', () => {
  const line = new FamilyLine({ 'a/': '10000, 10/s', 'a/x/': '10000, 100/s' }, () => '1000, 100/s')
  line.enqueue('a/x/1', ...jobs(300))
  line.enqueue('a/2', ...jobs(300))
  line.freeze('a/x/', line.now + 5 * SECOND)
  line.run(line.now + 5 * SECOND - 1)
  expect([line.startedOf('a/x/1'), line.startedOf('a/2')]).toEqual([0, 50])
  line.run(line.now + 5 * SECOND)
  expect(Math.abs(line.startedOf('a/x/1') - 25)).toBeLessThanOrEqual(1)
  line.pause('a/x/', true)
  line.run(line.now + 5 * SECOND)
  line.pause('a/x/', false)
  const before = line.startedOf('a/x/1')
  line.run(line.now + 5 * SECOND)
  expect(Math.abs(line.startedOf('a/x/1') - before - 25)).toBeLessThanOrEqual(1)
  line.pause('a/', true)
  const all = line.startedOf('a/')
  line.run(line.now + 5 * SECOND)
  expect(line.startedOf('a/')).toBe(all)
  expect(breaches(line)).toEqual([])
})

test('what a departure uses is by the part of which it takes most', () => {
  const limit = parseLimit('100, 10/s, 1000 tokens/minute 10 each, 500/hour')
  expect(useOf(limit, { cost: 1 })).toBe(72)
  expect(useOf(limit, { cost: 1, costs: { tokens: 500 } })).toBe(300)
  expect(useOf(parseLimit('100, 10/s'), { cost: 3 })).toBe(3)
})

test('a flood of one child leaves the others room, and a child alone may have four fifths', () => {
  const line = new FamilyLine({ 'a/': '100, 10/s' }, () => '1000, 100/s')
  const fill = (key: string) => {
    let count = 0
    while (line.fullAt(key, 1) === undefined) {
      line.enqueue(key, { cost: 1 })
      count++
    }
    return count
  }
  expect(fill('a/1')).toBe(80)
  expect(line.fullAt('a/1', 1)).toBe('a/')
  // Of what is left, each further child may have four fifths of the room that is left then.
  expect(fill('a/2')).toBe(16)
  expect(line.fullAt('a/3', 4)).toBeUndefined()
  // There is no room at all for more.
  expect(line.fullAt('a/3', 5)).toBe('a/')
})

test('room is asked for at each total', () => {
  const line = new FamilyLine({ 'a/': '100, 10/s', 'a/x/': '10, 10/s' }, () => '1000, 100/s')
  line.enqueue('a/x/1', ...jobs(8))
  expect(line.fullAt('a/x/1', 1)).toBe('a/x/')
  expect(line.fullAt('a/2', 1)).toBeUndefined()
  line.enqueue('a/2', ...jobs(73))
  expect(line.fullAt('a/x/2', 1)).toBeUndefined()
  line.enqueue('a/3', ...jobs(17))
  expect(line.fullAt('a/x/2', 1)).toBe('a/')
})

test('nothing is said about how long a child waits that does not share', () => {
  const line = new FamilyLine({ 'a/': '1000, 10/s', 'a/x/': '1000, 10/s' }, () => '1000, 100/s')
  line.enqueue('a/x/1', ...jobs(10))
  line.enqueue('a/2', ...jobs(10))
  expect(line.waitsAtMost('a/x/1')).toBeGreaterThan(0)
  line.freeze('a/x/1', line.now + SECOND)
  expect(line.waitsAtMost('a/x/1')).toBeUndefined()
  expect(line.waitsAtMost('a/2')).toBeGreaterThan(0)
  // A family below is a child as well.
  line.run(line.now + SECOND)
  expect(line.waitsAtMost('a/x/1')).toBeGreaterThan(0)
  line.freeze('a/x/', line.now + SECOND)
  expect(line.waitsAtMost('a/x/1')).toBeUndefined()
})

/** Its job that is first at a time needs more than the one that was first before. */
class SecondThoughts implements TotalledBucket {
  handle = -1
  tag = 0
  standing: FairChild['standing'] = 'gone'
  weight = 1
  readonly total: Total
  readonly frozenUntil = Number.NEGATIVE_INFINITY
  readonly waiting = 1
  asked = 0

  constructor(total: Total) {
    this.total = total
  }

  dueAt(now: number): number {
    this.asked += 1
    return now < 10 ? 10 : 20
  }

  headAt(): { readonly cost: number } {
    return { cost: 1 }
  }
}

test('children that become due together are asked a slice at a time, and until then it is said to ask again', () => {
  const total = new Total({ pattern: 'a/', path: 'a/', limit: parseLimit('1000, 100/s', 'a/') })
  const children = Array.from({ length: 250 }, () => new SecondThoughts(total))
  for (const child of children) stand(child, 0)
  expect(nextUnder(total, 0)).toEqual({ due: 10 })
  for (const child of children) child.asked = 0
  expect(nextUnder(total, 10)).toEqual({ due: 10 })
  expect(children.filter(({ asked }) => asked > 0)).toHaveLength(200)
  expect(nextUnder(total, 10)).toEqual({ due: 20 })
  expect(children.filter(({ asked }) => asked > 0)).toHaveLength(250)
})

test('children of a total below another one join in slices, too', () => {
  const limit = parseLimit('1000, 100/s', 'a/')
  const outermost = new Total({ pattern: 'a/', path: 'a/', limit })
  const total = new Total({ pattern: 'a/b/', path: 'a/b/', limit, parent: outermost })
  const children = Array.from({ length: 250 }, () => new SecondThoughts(total))
  for (const child of children) stand(child, 0)
  for (const child of children) child.asked = 0
  expect(nextUnder(outermost, 10)).toEqual({ due: 10 })
  expect(children.filter(({ asked }) => asked > 0)).toHaveLength(200)
  expect(nextUnder(outermost, 10)).toEqual({ due: 20 })
})
