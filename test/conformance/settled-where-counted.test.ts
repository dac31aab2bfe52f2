import { describe, expect, test } from 'vitest'
import { at, request } from '../support/backend-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'
import { RedisStage } from './redis-stage.ts'

/** One job of 100 tokens fills the quota. */
const per = (...windows: readonly string[]) =>
  `9, 1/s, ${windows.map((window) => `100 tokens/${window} 100 each`).join(', ')}, tolerance 0`

describe.each(DRIVERS)('%s: a start from before a change of windows', (_, open) => {
  /** The limits come two seconds apart; the first is in force when `a` starts. */
  async function startedUnder(...limits: readonly string[]) {
    const driver = await openFor(open, limits[0]!)
    await driver.lineUp('a', at(0))
    await driver.startNext(at(0))
    for (const [index, limit] of limits.slice(1).entries()) {
      await driver.setRule('*', limit, at(2 * (index + 1)))
    }
    const used = async (seconds: number) =>
      (await driver.inspect('a', at(seconds)))!.quotas!.map((quota) => quota.used)
    const start = async (id: string, tokens: number, seconds: number) => {
      await driver.admit(request(id, { costs: { tokens } }), at(seconds))
      return (await driver.startNext(at(seconds)))?.id
    }
    return { driver, used, start }
  }

  test('takes nothing from a later start, where it is over and its unit is counted anew', async () => {
    const { driver, used, start } = await startedUnder(per('minute'), per('second'))
    await driver.setRule('*', per('minute'), at(70))
    expect(await used(70)).toEqual([0])
    expect(await start('b', 100, 71)).toBe('b')
    expect(await driver.settle('a', { tokens: 1 }, at(72))).toBe(true)
    expect(await used(72)).toEqual([100])
    expect(await start('c', 99, 73)).toBeUndefined()
    expect(await driver.settle('b', { tokens: 1 }, at(74))).toBe(true)
    expect(await used(74)).toEqual([1])
  })

  test('settles both ways where its window was a shorter one for a while', async () => {
    const { driver, used, start } = await startedUnder(per('hour'), per('second'), per('hour'))
    expect(await used(6)).toEqual([100])
    expect(await start('b', 99, 9)).toBeUndefined()
    expect(await driver.settle('a', { tokens: 1 }, at(12))).toBe(true)
    expect(await used(12)).toEqual([1])
    expect((await driver.startNext(at(13)))?.id).toBe('b')
    expect(await used(13)).toEqual([100])
  })

  test.each(['hour', '30s', ' day in UTC'])(
    'settles upwards alone where its window is %s by then',
    async (window) => {
      for (const [actual, counted] of [
        [30, 100],
        [130, 130],
      ] as const) {
        const after = per(window).replace('/ ', ' per ')
        const { driver, used } = await startedUnder(per('minute'), after)
        expect(await driver.settle('a', { tokens: actual }, at(3))).toBe(true)
        expect(await used(3)).toEqual([counted])
      }
    },
  )

  test('settles both ways where its window is the same', async () => {
    const { driver, used } = await startedUnder(per('minute', 'hour'), per('hour', 'minute', '2h'))
    expect(await used(3)).toEqual([100, 100, 100])
    expect(await driver.settle('a', { tokens: 30 }, at(3))).toBe(true)
    expect(await used(3)).toEqual([30, 30, 100])
  })
})

describe('redis: where the clock is set back', () => {
  const LIMIT = '9, 10/s, 1000 tokens/minute 1 each, tolerance 0'

  async function run(stage: RedisStage, seconds: number) {
    const [job] = await stage.hand(seconds)
    const answer = await stage.gate(job!, seconds)
    if (answer.kind !== 'granted') return undefined
    await stage.start(job!, seconds)
    return answer.job
  }

  const usedOf = async (stage: RedisStage, seconds: number) =>
    (await stage.inspect('a', seconds))!.quotas![0]!.used

  /** `a` has started, and the clock was set back by two seconds. */
  async function setBack() {
    const stage = await RedisStage.open(LIMIT)
    await stage.lineUp('abcd', 100, { costs: { tokens: 499 } })
    const { fence } = (await run(stage, 100))!
    await stage.jump(98)
    const settle = (id: string, ofStart: number, tokens: number, seconds: number) =>
      stage.backend.verbs.settle({ id, key: 'a', fence: ofStart, amounts: { tokens } }, at(seconds))
    return { stage, fence, settle }
  }

  test('a start settles nothing away from one that started when the clock showed its time again', async () => {
    const { stage, fence, settle } = await setBack()
    await stage.claim(98)
    const b = await run(stage, 100.1)
    expect(b).toMatchObject({ id: 'b' })
    expect(await settle('a', fence, 1, 100.3)).toBe(true)
    // What the first counts leaves its window earlier, by the clock that was set back.
    expect(await usedOf(stage, 100.3)).toBe(998)
    expect(await usedOf(stage, 160)).toBe(499)
    expect(await settle('b', b!.fence, 5, 160)).toBe(true)
    expect(await usedOf(stage, 160)).toBe(5)
  })

  test('a start settles upwards, also before the clock shows its time again', async () => {
    for (const seconds of [98.1, 100.3]) {
      const { stage, fence, settle } = await setBack()
      expect(await settle('a', fence, 600, seconds)).toBe(true)
      expect(await usedOf(stage, seconds)).toBe(600)
      await stage.claim(seconds + 0.1)
      expect(await usedOf(stage, seconds + 0.1)).toBe(600)
    }
  })
})
