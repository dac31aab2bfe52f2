import { describe, expect, test } from 'vitest'
import { contendForTokens } from '../support/contend-for-tokens.ts'
import { TurnsStage } from './turns-stage.ts'

/** What others fell into with limits of several parts, tried through two processes on one Redis. */
describe('the trap', () => {
  test('check, then charge: five calls at once do not use more tokens than there are', async () => {
    const stage = new TurnsStage('20, 200/s, 100 tokens per 2 seconds 1 each')
    const shapers = [await stage.open(), await stage.open()]
    const costs = { tokens: 33 }
    const turns = await Promise.all([0, 1, 2, 3, 4].map((n) => shapers[n % 2]!.acquire('k', { costs })))
    const times = turns.map(({ departedAt }) => departedAt).sort((one, other) => one - other)
    expect(times[3]! - times[0]!).toBeGreaterThanOrEqual(2_000 - 0.001)
    expect(times[2]! - times[0]!).toBeLessThan(2_000)
    await stage.conforms()
  })

  test('an estimate above the limit: a rule that could never let a call pass is refused when it is set', async () => {
    const stage = new TurnsStage('20, 50/s, 100 tokens/minute 100 each')
    const shaper = await stage.open()
    await expect(shaper.limits.set('k', '20, 50/s, 100 tokens/minute 101 each')).rejects.toMatchObject({
      code: 'invalid-limit',
    })
    expect(await shaper.acquire('k')).toMatchObject({ accepted: true })
  })

  test('an estimate of zero, or none, is no free pass', async () => {
    const stage = new TurnsStage('20, 50/s, 100 tokens/minute 40 each')
    const shaper = await stage.open()
    await expect(shaper.enqueue('k', 1, { costs: { tokens: 0 } })).rejects.toMatchObject({
      code: 'invalid-options',
    })
    await expect(shaper.limits.set('k', '20, 50/s, 100 tokens/minute')).rejects.toMatchObject({
      code: 'invalid-limit',
    })
    await shaper.acquire('k')
    await shaper.acquire('k')
    expect((await shaper.inspect('k'))?.quotas).toMatchObject([{ used: 80 }])
    // The calls may still say that they took less, so the next one is not refused at once.
    await expect(shaper.acquire('k', { timeoutMs: 1_000 })).rejects.toMatchObject({ code: 'turn-timeout' })
  })

  test('one window for two units: each has its own, and all of it', async () => {
    const stage = new TurnsStage('20, 100/s, 3/second, 8 pages per 4 seconds 1 each')
    const [one, two] = [await stage.open(), await stage.open()]
    const turns = await Promise.all(Array.from({ length: 9 }, (_, n) => [one, two][n % 2]!.acquire('k')))
    const from = Math.min(...turns.map(({ departedAt }) => departedAt))
    const times = turns.map(({ departedAt }) => departedAt - from).sort((a, b) => a - b)
    // A window lasts up to a sixtieth longer, and a start of a busy machine may be late.
    expect(times[7]).toBeLessThan(4_000)
    expect(times[3]).toBeGreaterThanOrEqual(1_000 - 0.001)
    expect(times[6]).toBeGreaterThanOrEqual(2_000 - 0.001)
    expect(times[8]).toBeGreaterThanOrEqual(4_000 - 0.001)
    await stage.conforms()
  })

  test('a call larger than the bucket is refused at once, with the quota that it exceeds', async () => {
    const stage = new TurnsStage('20, 50/s, 100 tokens/minute 1 each')
    const shaper = await stage.open()
    expect(await shaper.enqueue('k', 1, { costs: { tokens: 101 } })).toMatchObject({
      accepted: false,
      reason: 'too-costly',
      quota: '100 tokens/minute',
    })
    await expect(shaper.acquire('k', { costs: { tokens: 101 } })).rejects.toMatchObject({
      code: 'turn-refused',
    })
    expect(await shaper.acquire('k', { costs: { tokens: 100 } })).toMatchObject({ accepted: true })
  })

  test('reservations of calls that did not start, or failed and say so, are released', async () => {
    const stage = new TurnsStage('20, 50/s, 100 tokens/minute 1 each')
    const shaper = await stage.open()
    await shaper.pause('k')
    await shaper.enqueue('k', 1, { id: 'cancelled', costs: { tokens: 100 } })
    const abort = new AbortController()
    const aborted = await stage.caller(shaper, 'aborted', { costs: { tokens: 100 }, signal: abort.signal })
    expect(await shaper.cancel('cancelled')).toBe(true)
    abort.abort(new Error('enough'))
    await expect(aborted.turn).rejects.toThrow('enough')
    await shaper.resume('k')
    const failed = await shaper.acquire('k', { costs: { tokens: 100 }, timeoutMs: 5_000 })
    expect(await failed.settle({ tokens: 0 })).toBe(true)
    expect(await shaper.acquire('k', { costs: { tokens: 100 }, timeoutMs: 5_000 })).toMatchObject({
      accepted: true,
    })
  })

  test('places that wait for the rate: none is taken until a start is due', async () => {
    const stage = new TurnsStage('20, 1 per 3s, 1 at once')
    const [one, two] = [await stage.open(), await stage.open()]
    await (await one.acquire('k')).release()
    const next = two.acquire('k')
    await expect.poll(() => one.inspect('k')).toMatchObject({ waiting: 1, places: { taken: 0, of: 1 } })
    expect(await (await next).release()).toBe(true)
    await stage.conforms()
  })

  test('places leaked after a crash: all of those that a killed process held come free', async () => {
    const stage = new TurnsStage('20, 50/s, 2 at once')
    const shaper = await stage.open()
    shaper.schedule()
    const holders = [await stage.holder(), await stage.holder()]
    expect(await shaper.inspect('k')).toMatchObject({ places: { taken: 2, of: 2 } })
    for (const { child } of holders) child.kill('SIGKILL')
    // As often as there are places, at the same time.
    const turns = await Promise.all([shaper.acquire('k'), shaper.acquire('k')])
    expect(await shaper.inspect('k')).toMatchObject({ places: { taken: 2, of: 2 } })
    for (const turn of turns) expect(await turn.release()).toBe(true)
    expect(await shaper.inspect('k')).toMatchObject({ places: { taken: 0, of: 2 } })
  })

  test('a share served twice under contention: many callers of many processes use all of a quota, and no more', async () => {
    const stage = new TurnsStage('90, 200/s, 300 tokens/hour 1 each')
    const shapers = await Promise.all([0, 1, 2, 3].map(() => stage.open()))
    await contendForTokens(
      shapers,
      () => 'k',
      async () => (await shapers[0]!.inspect('k'))?.quotas,
    )
  })
})
