import { describe, expect, onTestFinished, test } from 'vitest'
import { Shaper, UnknownUnitError } from '../../src/index.ts'
import { checkHistory, recordHistory } from '../../src/testing.ts'
import { eventually } from '../support/patience.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'

const LINES = [
  ['memory', () => ({})],
  ['redis', () => ({ connection: redisAddress(), prefix: uniquePrefix() })],
] as const

// A key with a pace alone is forgotten as soon as it is idle. What its turn took is often known only later.
describe.each(LINES)('%s: a turn whose key is forgotten', (_, where) => {
  async function forgotten(limits: Readonly<Record<string, string>>, costs?: { readonly tokens: number }) {
    const shaper = new Shaper('settled', { limits: { '*': '99, 100/s', ...limits }, ...where() })
    onTestFinished(() => shaper.close())
    const recording = recordHistory(shaper)
    const turn = await shaper.acquire('a/b/x', { ...(costs && { costs }) })
    await eventually(async () => expect(await shaper.inspect('a/b/x')).toBeUndefined())
    const used = async (path: string) => {
      const { families } = await shaper.families()
      return families.find((family) => family.path === path)?.quotas?.map((quota) => quota.used)
    }
    return { shaper, turn, used, breaches: () => checkHistory(recording.history, { unfinished: true }) }
  }

  test.each([
    [10, 40],
    [40, 10],
    [undefined, 3],
    [undefined, 9],
  ])('that named %s settles at %s in the totals above, once', async (named, tokens) => {
    const limits = { 'a/': '999, 99/s, 9000 tokens/hour 5 each', 'a/b/': '999, 99/s, 500 tokens/hour 7 each' }
    const { turn, used, breaches } = await forgotten(
      limits,
      named === undefined ? undefined : { tokens: named },
    )
    expect([await used('a/'), await used('a/b/')]).toEqual([[named ?? 5], [named ?? 7]])
    expect(await turn.settle({ tokens })).toBe(true)
    expect(await turn.settle({ tokens: 1 })).toBe(false)
    expect([await used('a/'), await used('a/b/')]).toEqual([[tokens], [tokens]])
    expect(breaches()).toEqual([])
  })

  test('settles in an outer total, where the inner one has no quota', async () => {
    const limits = { 'a/': '999, 99/s, 9000 tokens/hour 5 each', 'a/b/': '999, 99/s' }
    const { turn, used } = await forgotten(limits, { tokens: 40 })
    expect(await turn.settle({ tokens: 10 })).toBe(true)
    expect(await used('a/')).toEqual([10])
  })

  test('settles nothing where it was released, or no total counts the unit', async () => {
    const released = await forgotten({ 'a/': '999, 99/s, 900 tokens/hour 5 each' })
    await released.turn.release()
    expect(await released.turn.settle({ tokens: 9 })).toBe(false)
    expect(await released.used('a/')).toEqual([5])
    const other = await forgotten({ 'a/': '999, 99/s, 900 images/hour 5 each' })
    expect(await other.turn.settle({ tokens: 9 })).toBe(false)
    expect(await other.turn.settle({ images: 9 })).toBe(true)
    expect(await other.used('a/')).toEqual([9])
  })

  test('lets more start, or fewer, by what it took', async () => {
    const { shaper, turn } = await forgotten({ 'a/': '999, 99/s, 10 tokens/hour 5 each' }, { tokens: 6 })
    const starts = () => shaper.tryAcquire('a/b/y').then(({ accepted }) => accepted)
    expect(await starts()).toBe(false)
    expect(await turn.settle({ tokens: 5 })).toBe(true)
    await eventually(async () => expect(await starts()).toBe(true))
    expect(await starts()).toBe(false)
  })

  test('that is known to have no such unit says so while its key is there', async () => {
    const shaper = new Shaper('settled', {
      limits: { '*': '99, 1/m', 'a/': '999, 99/s, 900 tokens/hour 5 each' },
      ...where(),
    })
    onTestFinished(() => shaper.close())
    const turn = await shaper.acquire('a/b/x')
    await expect(turn.settle({ images: 9 })).rejects.toThrow(UnknownUnitError)
  })
})
