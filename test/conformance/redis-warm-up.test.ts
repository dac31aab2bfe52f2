import { describe, expect, test } from 'vitest'
import { at, msAt } from '../support/backend-driver.ts'
import { restart } from './losses.ts'
import { BACK, RedisStage } from './redis-stage.ts'

/** Cold one in three seconds; three seconds later one in one and a half, and another later one a second. */
const RULE = '9, 1/s, warm-up 4s'

/** `a` started at 0, `b` at 3; `c` is handed over and has the slot at 4.5. */
async function warming() {
  const stage = await RedisStage.open(RULE)
  await stage.lineUp('abcdef', 0)
  await stage.run(0)
  await stage.run(3)
  const [c] = await stage.hand(4.4, 200)
  expect(await stage.gate(c!, 4.4)).toMatchObject({ kind: 'granted', slot: at(4.5) })
  return { stage, c: c! }
}

const nextAt = async (stage: RedisStage, seconds: number) =>
  (await stage.inspect('a', seconds))?.nextDepartureAt

describe('a granted slot of a bucket that warms up', () => {
  test('that is started on time warms it', async () => {
    const { stage, c } = await warming()
    await stage.start(c, 4.5)
    expect(await nextAt(stage, 4.6)).toBe(msAt(5.5))
    await stage.balances()
  })

  test('that is sent back gives back its warmth', async () => {
    const stage = await RedisStage.open(RULE)
    await stage.lineUp('abcd', 0)
    await stage.run(0)
    const [b] = await stage.hand(2.9, 200)
    expect(await stage.gate(b!, 2.9)).toMatchObject({ kind: 'granted', slot: at(3) })
    await stage.finish(b!, BACK, 2.95)
    await stage.run(3)
    expect(await nextAt(stage, 3.1)).toBe(msAt(4.5))
    await stage.run(4.5)
    expect(await nextAt(stage, 4.6)).toBe(msAt(5.5))
  })

  test('that is too far away is not taken, and warms nothing', async () => {
    const stage = await RedisStage.open(RULE)
    await stage.lineUp('abcd', 0)
    await stage.run(0)
    const [b] = await stage.hand(2.9, 200)
    await stage.backend.verbs.freeze('a', 1_000_000, at(2.95))
    expect(await stage.gate(b!, 3)).toEqual({ kind: 'returned' })
    await stage.run(3.95)
    expect(await nextAt(stage, 4)).toBe(msAt(6.95))
  })

  test('that is started late goes on from the start, and the bucket has cooled meanwhile', async () => {
    const { stage, c } = await warming()
    // 4 s warm at the slot, and 0.2 s later 0.2 s less: 1 s + 0.5 x 0.2 s.
    await stage.start(c, 4.7)
    expect(await nextAt(stage, 4.8)).toBeCloseTo(msAt(4.7 + 1.1), 3)
  })

  test('after which a running job is given back leaves the bucket as warm as it is', async () => {
    const { stage, c } = await warming()
    await stage.start(c, 4.5)
    await stage.finish(c, { kind: 'freeze', duration: 0 }, 4.6)
    expect(await nextAt(stage, 4.7)).toBe(msAt(5.5))
    expect((await stage.run(5.5)).id).toBe('c')
    expect(await nextAt(stage, 5.6)).toBe(msAt(6.5))
    await stage.balances()
  })

  test('that is started after a freeze leaves the bucket cold', async () => {
    const { stage, c } = await warming()
    await stage.backend.verbs.freeze('a', 10_000, at(4.49))
    await stage.start(c, 4.5)
    await stage.run(5.5)
    expect(await nextAt(stage, 5.6)).toBe(msAt(8.5))
  })

  test('that is started late after a freeze as well', async () => {
    const { stage, c } = await warming()
    await stage.backend.verbs.freeze('a', 10_000, at(4.49))
    await stage.start(c, 4.7)
    await stage.run(5.8)
    expect(await nextAt(stage, 5.9)).toBe(msAt(8.8))
  })

  test('returns how far the start before keeps it away', async () => {
    const stage = await RedisStage.open(RULE)
    await stage.lineUp('ab', 0)
    await stage.run(0)
    const [b] = await stage.hand(3)
    expect(await stage.gate(b!, 3)).toMatchObject({ pace: { lastStart: at(0), spacing: 3_000_000 } })
  })
})

test('after a restart it waits for the interval of a cold start, since a freeze may have been lost, and cools meanwhile', async () => {
  const { stage, c } = await warming()
  await stage.start(c, 4.5)
  await restart(stage)
  const [d] = await stage.hand(5.5)
  expect(await stage.gate(d!, 5.5)).toEqual({ kind: 'returned' })
  // Half a second for a slot that may be lost, and the interval.
  expect(await nextAt(stage, 5.6)).toBe(msAt(9))
  await stage.run(9)
  // It was warm at 5.5, and 3.5 s have taken back as much: half a second of 4 is left.
  expect(await nextAt(stage, 9.1)).toBe(msAt(11.75))
})

test('a clock that is set back is healed, and the warmth stays', async () => {
  const { stage, c } = await warming()
  await stage.start(c, 4.5)
  const [d] = await stage.hand(5.5)
  await stage.gate(d!, 5.5)
  await stage.start(d!, 5.5)
  await stage.jump(-1_000)
  await stage.claim(-1_000)
  // Half a second for slots that were granted ahead, and the interval.
  expect(await nextAt(stage, -999)).toBe(msAt(-998.5))
})

test('costs nothing in the record of a bucket whose limit has none', async () => {
  const sizeOf = async (limit: string) => {
    const stage = await RedisStage.open(limit)
    await stage.lineUp('a', 0)
    return (await stage.redis.hstrlen(`${stage.tag}:buckets`, 'a')) - limit.length
  }
  expect((await sizeOf(RULE)) - (await sizeOf('9, 1/s'))).toBe(5 * 8)
})
