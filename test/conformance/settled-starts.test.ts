import { describe, expect, test } from 'vitest'
import { at, COMPLETED, failAndRetry, request } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'
import { RedisStage } from './redis-stage.ts'

const LIMIT = '9, 10/s, 1000 tokens/minute 100 each, tolerance 0'

describe.each(DRIVERS)('%s: a report from outside of the handler', (_, open) => {
  /** A job that froze its key, and starts again with the number of its first attempt. */
  async function startedAgain() {
    const driver = await openFor(open, LIMIT)
    await driver.lineUp('j', at(0))
    const first = await driver.startNext(at(0))
    await driver.finish('j', { kind: 'freeze', until: at(0.5) }, at(0.1))
    const second = await driver.startNext(at(1))
    expect([first?.attempt, second?.attempt]).toEqual([1, 1])
    const used = async () => (await driver.inspect('a', at(2)))!.quotas!.map((quota) => quota.used)
    return { driver, first: first!.fence, second: second!.fence, used }
  }

  test('by the number of an attempt that has started again settles nothing', async () => {
    const { driver, used } = await startedAgain()
    expect(await driver.settleRunning('j', { tokens: 5 }, { attempt: 1 }, at(1.5))).toBe(false)
    expect(await used()).toEqual([200])
    expect(await driver.settle('j', { tokens: 900 }, at(2))).toBe(true)
    expect(await used()).toEqual([1_000])
  })

  test('by a fence settles that start alone', async () => {
    const { driver, first, second, used } = await startedAgain()
    const settle = (tokens: number, which: { fence: number; attempt?: number }) =>
      driver.settleRunning('j', { tokens }, which, at(1.5))
    expect(await settle(5, { fence: first })).toBe(false)
    expect(await settle(6, { fence: second + 1 })).toBe(false)
    expect(await settle(7, { fence: second, attempt: 2 })).toBe(false)
    expect(await used()).toEqual([200])
    expect(await settle(40, { fence: second, attempt: 1 })).toBe(true)
    expect(await settle(41, { fence: second })).toBe(false)
    expect(await used()).toEqual([140])
  })

  test('by a number settles the attempt of that number while no other start had it', async () => {
    const { driver, used } = await startedAgain()
    const settle = (tokens: number, attempt: number) =>
      driver.settleRunning('j', { tokens }, { attempt }, at(3))
    await driver.finish('j', failAndRetry(at(2)), at(1.5))
    await driver.startNext(at(2))
    expect(await settle(30, 1)).toBe(false)
    expect(await settle(31, 2)).toBe(true)
    expect(await used()).toEqual([231])
    await driver.finish('j', COMPLETED, at(4))
    expect(await settle(32, 2)).toBe(false)
  })

  test('without either settles the start that runs', async () => {
    const { driver, used } = await startedAgain()
    expect(await driver.settleRunning('j', { tokens: 10 }, {}, at(1.5))).toBe(true)
    expect(await used()).toEqual([110])
  })

  test('settles no turn, whose caller alone does that', async () => {
    const driver = await openFor(open, `${LIMIT}, 2 at once`)
    await driver.admit(request('~c~1', { isTurn: true }), at(0))
    const { fence } = (await driver.startNext(at(0)))!
    for (const which of [{ fence }, { attempt: 1 }, {}]) {
      expect(await driver.settleRunning('~c~1', { tokens: 5 }, which, at(1))).toBe(false)
    }
    expect(await driver.settle('~c~1', { tokens: 6 }, at(1))).toBe(true)
  })
})

test('redis: after a crash the number of the attempt settles nothing, and the fence the start that runs', async () => {
  const stage = await RedisStage.open(LIMIT)
  await stage.admit('j', 0)
  const start = async (seconds: number) => {
    const [job] = await stage.hand(seconds)
    const answer = await stage.gate(job!, seconds)
    if (answer.kind !== 'granted') throw new Error(`expected a slot, got ${answer.kind}`)
    await stage.start(job!, seconds)
    return answer.job
  }
  const first = await start(0)
  expect(await stage.recover(31)).toMatchObject([{ id: 'j', crashed: true, failed: false }])
  const second = await start(31.5)
  expect([first.attempt, second.attempt]).toEqual([1, 1])
  const settle = (which: { fence?: number; attempt?: number }) =>
    stage.backend.verbs.settleRunning({ id: 'j', amounts: { tokens: 5 }, which }, at(32))
  expect(await settle({ attempt: 1 })).toBeUndefined()
  expect(await settle({ fence: first.fence })).toBeUndefined()
  const [quota] = (await stage.inspect('a', 32))!.quotas!
  expect(quota!.used).toBe(200)
  expect(await settle({ fence: second.fence })).toMatchObject({ fence: second.fence, attempt: 1 })
})
