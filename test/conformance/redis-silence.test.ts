import { describe, expect, test } from 'vitest'
import { shardKey } from '../../src/backend/redis/keys.ts'
import { RedisStage } from './redis-stage.ts'

/** Nobody could renew while Redis was away. `w` was handed over, `x` has a slot and `y` runs; all leases end at 30. */
async function away() {
  const stage = await RedisStage.open('9, 1/s')
  for (const id of 'wxy') await stage.lineUp(id, 0, { key: id })
  const jobs = await stage.hand(0)
  expect(jobs.map(({ id }) => id)).toEqual(['w', 'x', 'y'])
  const [w, x, y] = jobs
  for (const job of [x!, y!]) await stage.gate(job, 0)
  await stage.start(y!, 0)
  return { stage, w: w!, x: x!, y: y! }
}

const ids = (jobs: readonly { readonly id: string }[]) => jobs.map(({ id }) => id).sort()

/** Somebody claims every five seconds, as of the fifth. */
async function claimUntil(stage: RedisStage, until: number): Promise<void> {
  for (let seconds = 5; seconds <= until; seconds += 5) await stage.claim(seconds)
}

describe('leases that have ended', () => {
  test('are void at once where somebody claimed all the time', async () => {
    const { stage } = await away()
    await claimUntil(stage, 30)
    expect(ids(await stage.recover(30))).toEqual(['w', 'x', 'y'])
    await stage.balances()
  })

  test('while nobody claimed for more than ten seconds: their workers get three more', async () => {
    const { stage, y } = await away()
    await claimUntil(stage, 20)
    expect((await stage.claim(30.1)).nextRecovery).toBeGreaterThan((await stage.claim(30.1)).now)
    expect(await stage.recover(30.1)).toEqual([])
    expect(await stage.recover(33)).toEqual([])
    expect(await stage.renew(y, 30, 33)).toBe(true)
    expect(ids(await stage.recover(33.1))).toEqual(['w', 'x'])
    expect(await stage.state('y', 33.1)).toBe('running')
    await stage.balances()
  })

  test('with a Redis that was started anew: their workers get five more seconds', async () => {
    const { stage, w } = await away()
    await claimUntil(stage, 30)
    await stage.redis.hset(shardKey(stage.tag, 'meta'), 'run', 'another')
    await stage.claim(31)
    expect(await stage.recover(31)).toEqual([])
    expect(await stage.recover(35.9)).toEqual([])
    expect(await stage.renew(w, 30, 35.9)).toBe(true)
    expect(ids(await stage.recover(36))).toEqual(['x', 'y'])
    await stage.balances()
  })

  test('later than that are not shortened', async () => {
    const { stage, w, x, y } = await away()
    for (const job of [w, x, y]) expect(await stage.renew(job, 90, 1)).toBe(true)
    await stage.redis.hset(shardKey(stage.tag, 'meta'), 'run', 'another')
    await stage.claim(40)
    expect(await stage.recover(90)).toEqual([])
    expect(ids(await stage.recover(91))).toEqual(['w', 'x', 'y'])
  })
})
