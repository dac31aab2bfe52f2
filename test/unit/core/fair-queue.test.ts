import { expect, test } from 'vitest'
import { type FairChild, FairQueue } from '../../../src/core/fair-queue.ts'
import { LineOfChild, SharedLimit } from '../../support/shared-limit.ts'

const flood = (jobs: number, cost = 1) => Array.from({ length: jobs }, () => cost)

test('a flood gets half beside a child that enqueues its next job when the last one starts', () => {
  const limit = new SharedLimit()
  const [flooding, modest] = [new LineOfChild(), new LineOfChild()]
  limit.enqueue(flooding, ...flood(2_000))
  limit.enqueue(modest, 1)
  limit.run(1_000, (departed) => {
    if (departed === modest) limit.enqueue(modest, 1)
  })
  expect(flooding.served).toBe(500)
  expect(modest.served).toBe(500)
})

test('weights hold for children whose own limits pace them', () => {
  const limit = new SharedLimit()
  // 100 a second for all; it would get 9.09 of them, and its own limit allows 10.
  const heavy = new LineOfChild({ weight: 3, interval: 10 })
  const others = Array.from({ length: 30 }, () => new LineOfChild())
  limit.enqueue(heavy, ...flood(2_000))
  for (const other of others) limit.enqueue(other, ...flood(1_000))
  limit.run(9_900)
  expect(heavy.served).toBeGreaterThanOrEqual(890)
  expect(heavy.served).toBeLessThanOrEqual(903)
  for (const { served } of others) expect(Math.abs(served - 300)).toBeLessThanOrEqual(1)
})

test('whom its own limit held back for long has not saved up what it did not get', () => {
  const limit = new SharedLimit()
  const [held, other] = [new LineOfChild({ interval: 100 }), new LineOfChild()]
  limit.enqueue(held, ...flood(1_000))
  limit.enqueue(other, ...flood(2_000))
  limit.run(1_000)
  expect(held.served).toBe(10)
  held.interval = 0
  limit.run(1_200)
  expect(Math.abs(held.served - 10 - 100)).toBeLessThanOrEqual(2)
})

test('a stream of newcomers with one job each leaves a child its share', () => {
  const limit = new SharedLimit()
  const old = new LineOfChild()
  limit.enqueue(old, ...flood(10_000))
  let newcomers = 0
  limit.run(1_000, () => {
    limit.enqueue(new LineOfChild(), 1)
    newcomers++
  })
  // Of n newcomers that wait and this child, each gets one part in n + 1, and n grows by its share: the square root of 2,000.
  expect(newcomers).toBe(1_000)
  expect(old.served).toBeGreaterThanOrEqual(43)
  expect(old.served).toBeLessThanOrEqual(47)
})

test('what did not start is not charged', () => {
  const limit = new SharedLimit()
  const [unlucky, other] = [new LineOfChild(), new LineOfChild()]
  limit.enqueue(unlucky, ...flood(2_000))
  limit.enqueue(other, ...flood(2_000))
  let started = 0
  let attempts = 0
  limit.run(1_200, (departed) => {
    if (departed !== unlucky) return
    // Of each two attempts, one does not come about.
    if (attempts++ % 2 === 0) limit.queue.correct(unlucky, -1)
    else started++
  })
  expect(Math.abs(started - other.served)).toBeLessThanOrEqual(1)
})

test('large jobs and small ones get the same amount', () => {
  const limit = new SharedLimit()
  const [large, small] = [new LineOfChild(), new LineOfChild()]
  limit.enqueue(large, ...flood(100, 100))
  limit.enqueue(small, ...flood(10_000, 1))
  limit.run(10_000)
  expect(Math.abs(large.served - small.served)).toBeLessThanOrEqual(101)
})

test('what was settled at more counts against the child', () => {
  const limit = new SharedLimit()
  const [modest, honest] = [new LineOfChild(), new LineOfChild()]
  limit.enqueue(modest, ...flood(2_000))
  limit.enqueue(honest, ...flood(2_000))
  limit.run(1_000, (departed) => {
    if (departed === modest) limit.queue.correct(modest, 2)
  })
  expect(honest.served / modest.served).toBeGreaterThan(2.9)
  expect(honest.served / modest.served).toBeLessThan(3.1)
})

test('a new weight acts on what waits', () => {
  const limit = new SharedLimit()
  const [one, other] = [new LineOfChild(), new LineOfChild()]
  limit.enqueue(one, ...flood(2_000))
  limit.enqueue(other, ...flood(2_000))
  limit.run(100)
  limit.queue.reweigh(one, 9)
  expect(limit.queue.weights).toBe(10)
  limit.run(1_100)
  expect(one.served).toBeGreaterThanOrEqual(949)
  expect(one.served).toBeLessThanOrEqual(951)
})

test('of equal tags, who has waited longest goes first', () => {
  const limit = new SharedLimit()
  const children = Array.from({ length: 5 }, () => new LineOfChild())
  const [first, ...rest] = children
  limit.enqueue(first!, 1, 1)
  for (const child of rest) limit.enqueue(child, 1, 1)
  const order: number[] = []
  limit.run(10, (departed) => order.push(children.indexOf(departed!)))
  expect(order.slice(0, 5)).toEqual([0, 1, 2, 3, 4])
  expect(order.slice(5)).toEqual([0, 1, 2, 3, 4])
})

test('when nobody has work and there is room, what was used is forgotten', () => {
  const limit = new SharedLimit()
  const [large, other] = [new LineOfChild(), new LineOfChild()]
  limit.enqueue(large, 50)
  limit.run(100)
  expect(large.standing).toBe('away')
  limit.enqueue(other, 1, 1, 1)
  limit.enqueue(large, 1)
  // Without this, it would wait until the other had got 50.
  limit.run(102)
  expect(large.served).toBe(51)
})

test('those who join a queue at rest begin as below a new one, one behind the other', () => {
  const newChild = (weight: number): FairChild => ({ handle: -1, tag: 0, standing: 'gone', weight })
  const joinAll = (queue: FairQueue<FairChild>, from: number) => {
    const children = [4, 2, 1].map((weight) => newChild(weight))
    for (const child of children) queue.join(child, 1)
    return children.map(({ tag }) => tag - from)
  }
  const used = new FairQueue<FairChild>()
  const before = [newChild(0.5), newChild(0.5)]
  for (const child of before) used.join(child, 1)
  for (const child of before) used.leave(child)
  used.rest()
  const tags = joinAll(new FairQueue(), 0)
  expect(tags[0]).toBe(0)
  expect(tags.toSorted((one, other) => one - other)).toEqual(tags)
  expect(new Set(tags).size).toBe(3)
  expect(joinAll(used, before[1]!.tag)).toEqual(tags.map((tag) => expect.closeTo(tag, 9)))
})

test('a child that comes back within its turn has not gained by it', () => {
  const limit = new SharedLimit()
  const [one, other] = [new LineOfChild(), new LineOfChild()]
  limit.enqueue(other, ...flood(100))
  limit.enqueue(one, 10)
  limit.run(12)
  expect(one.standing).toBe('away')
  limit.enqueue(one, ...flood(100))
  limit.run(20)
  expect(one.served).toBe(10)
  limit.run(40)
  expect(Math.abs(one.served - other.served)).toBeLessThanOrEqual(11)
})

test('tags that virtual time has passed are forgotten, a few at a time', () => {
  const limit = new SharedLimit()
  const steady = new LineOfChild()
  limit.enqueue(steady, ...flood(100))
  const brief = Array.from({ length: 20 }, () => new LineOfChild())
  for (const child of brief) limit.enqueue(child, 1)
  limit.run(100)
  expect(brief.map(({ standing }) => standing)).toEqual(brief.map(() => 'gone'))
  expect(limit.queue.size).toBe(1)
})

test('a child that has no work any more gets back what its last departure was charged, if that did not come about', () => {
  const limit = new SharedLimit()
  const [unlucky, other] = [new LineOfChild(), new LineOfChild()]
  limit.enqueue(other, ...flood(100))
  limit.enqueue(unlucky, 10)
  limit.run(11)
  expect(unlucky.standing).toBe('away')
  limit.queue.correct(unlucky, -10)
  expect(unlucky.standing).toBe('gone')
  limit.enqueue(unlucky, ...flood(100))
  // It shares from the end of that departure on, and does not wait first until the other has had ten.
  limit.run(15)
  const before = other.served
  limit.run(31)
  expect([unlucky.served - 10, other.served - before]).toEqual([8, 8])
})

test('a child that has no work any more pays what its last departure really took, when it comes back', () => {
  const limit = new SharedLimit()
  const [modest, other] = [new LineOfChild(), new LineOfChild()]
  limit.enqueue(modest, 1)
  limit.enqueue(other, ...flood(100))
  limit.run(5)
  expect(modest.standing).toBe('gone')
  limit.queue.correct(modest, 20)
  expect(modest.standing).toBe('away')
  limit.enqueue(modest, ...flood(100))
  const before = other.served
  limit.run(20)
  expect(other.served - before).toBe(15)
  limit.run(60)
  expect(modest.served).toBeGreaterThanOrEqual(20)
})

test('whom its own limit holds back pays what it really took, when it may go', () => {
  const limit = new SharedLimit()
  const [held, other] = [new LineOfChild({ interval: 10 }), new LineOfChild()]
  limit.enqueue(held, ...flood(100))
  limit.enqueue(other, ...flood(100))
  limit.run(1)
  expect(held.standing).toBe('held')
  limit.queue.correct(held, 30)
  held.interval = 0
  limit.run(30)
  expect([held.served, other.served]).toEqual([1, 29])
})

test('a child that is dropped leaves its share to the others, and begins anew if it comes back', () => {
  const limit = new SharedLimit()
  const [dropped, one, other] = [
    new LineOfChild({ weight: 8 }),
    new LineOfChild({ weight: 1 }),
    new LineOfChild({ weight: 1 }),
  ]
  for (const child of [dropped, one, other]) limit.enqueue(child, ...flood(1_000))
  limit.run(100)
  expect(limit.queue.weights).toBe(10)
  limit.queue.drop(dropped)
  expect({ ...dropped }).toMatchObject({ tag: 0, standing: 'gone' })
  expect(limit.queue.weights).toBe(2)
  const before = one.served
  limit.run(300)
  expect(one.served - before).toBe(100)
})

test('children that come and go leave nothing of their weights behind', () => {
  const queue = new FairQueue<LineOfChild>()
  const stays = new LineOfChild({ weight: 1.55 })
  queue.join(stays, 1)
  const alone = queue.weights
  expect(alone).toBeCloseTo(1.55, 9)
  for (let turn = 0; turn < 100; turn++) {
    const others = [0.001, 0.1, 0.7, 1.1, 1.55, 333.3, 1e6 / 3].map((weight) => new LineOfChild({ weight }))
    for (const other of others) queue.join(other, 1)
    for (const other of others) queue.reweigh(other, other.weight * 1.1)
    for (const other of others) queue.leave(other)
  }
  expect(queue.weights).toBe(alone)
  queue.leave(stays)
  expect(queue.weights).toBe(0)
})

test('a new weight of a child without work counts once it has some', () => {
  const limit = new SharedLimit()
  const [absent, other] = [new LineOfChild(), new LineOfChild()]
  limit.enqueue(other, ...flood(1_000))
  limit.queue.reweigh(absent, 3)
  expect(limit.queue.weights).toBe(1)
  limit.run(10)
  limit.enqueue(absent, ...flood(1_000))
  expect(limit.queue.weights).toBe(4)
  limit.run(410)
  expect(Math.abs(absent.served - 300)).toBeLessThanOrEqual(1)
})
