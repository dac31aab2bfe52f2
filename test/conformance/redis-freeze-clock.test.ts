import { describe, expect, it } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { at } from '../support/backend-driver.ts'
import { RedisStage } from './redis-stage.ts'

const TEN_MINUTES = 600

/** `a` waits in a bucket that is frozen until 60; the clock is set back by ten minutes at 20. */
async function frozen(): Promise<RedisStage> {
  const stage = await RedisStage.open('9, 1/s', { openedAt: at(0) })
  await stage.lineUp('a', 0, { key: 'k' })
  await stage.backend.verbs.freeze('k', 60 * SECOND, at(0))
  await stage.claim(20)
  stage.isSilent = true
  return stage
}

/** What a process that has seen the jump does, as well as any other. */
async function setBack(stage: RedisStage): Promise<void> {
  await stage.jump(20 - TEN_MINUTES)
  expect(await stage.hand(20 - TEN_MINUTES)).toEqual([])
}

const frozenUntil = async (stage: RedisStage, seconds: number) =>
  (await stage.inspect('k', seconds))?.frozenUntil

describe('a freeze', () => {
  it('ends no later because the clock was set back by ten minutes', async () => {
    const stage = await frozen()
    await setBack(stage)
    expect(await frozenUntil(stage, -580)).toBe(at(60 - TEN_MINUTES) / 1_000)
    expect(await stage.hand(59.9 - TEN_MINUTES)).toEqual([])
    const [job] = await stage.hand(60 - TEN_MINUTES)
    expect(await stage.gate(job!, 60 - TEN_MINUTES)).toMatchObject({ kind: 'granted' })
    await stage.balances()
  })

  it('that is given after the clock was set back lasts as long as was asked, whichever process sees the clock first', async () => {
    const stage = await frozen()
    // Longer than what is left of the first.
    const { until } = await stage.backend.verbs.freeze('k', 100 * SECOND, at(20 - TEN_MINUTES))
    expect(until).toBe(at(120 - TEN_MINUTES))
    await setBack(stage)
    expect(await frozenUntil(stage, -580)).toBe(at(120 - TEN_MINUTES) / 1_000)
    expect(await stage.hand(119.9 - TEN_MINUTES)).toEqual([])
    expect(await stage.hand(120 - TEN_MINUTES)).toHaveLength(1)
  })

  it.each(['b', '~c~1'])(
    'ends no later where the admission of %s is the first call that finds the clock set back',
    async (id) => {
      const stage = await frozen()
      await stage.admit(id, 20 - TEN_MINUTES, { key: 'k' })
      expect(await frozenUntil(stage, 20 - TEN_MINUTES)).toBe(at(60 - TEN_MINUTES) / 1_000)
      await setBack(stage)
      expect(await frozenUntil(stage, -580)).toBe(at(60 - TEN_MINUTES) / 1_000)
      expect(await stage.hand(60 - TEN_MINUTES)).toHaveLength(1)
      await stage.balances()
    },
  )

  it('ends no later where no worker has called yet when the clock is set back', async () => {
    const stage = await RedisStage.open('9, 1/s', { openedAt: at(0) })
    await stage.lineUp('a', 0, { key: 'k' })
    await stage.backend.verbs.freeze('k', 60 * SECOND, at(10))
    await stage.admit('b', 20 - TEN_MINUTES, { key: 'k' })
    // The ten seconds since the freeze count as part of the step.
    expect(await frozenUntil(stage, 20 - TEN_MINUTES)).toBe(at(80 - TEN_MINUTES) / 1_000)
    expect(await stage.hand(79.9 - TEN_MINUTES)).toEqual([])
    expect(await stage.hand(80 - TEN_MINUTES)).toHaveLength(1)
    await stage.balances()
  })

  it('that is shorter than what is left shortens nothing after the clock was set back', async () => {
    const stage = await frozen()
    const { until } = await stage.backend.verbs.freeze('k', 10 * SECOND, at(20 - TEN_MINUTES))
    expect(until).toBe(at(60 - TEN_MINUTES))
  })

  it('moves along each time, and can be lifted', async () => {
    const stage = await frozen()
    await setBack(stage)
    await stage.jump(20 - 2 * TEN_MINUTES)
    expect(await frozenUntil(stage, 20 - 2 * TEN_MINUTES)).toBe(at(60 - 2 * TEN_MINUTES) / 1_000)
    expect((await stage.backend.verbs.unfreeze('k', at(20 - 2 * TEN_MINUTES))).isLifted).toBe(true)
    expect(await frozenUntil(stage, 20 - 2 * TEN_MINUTES)).toBeUndefined()
  })
})

it.each(['freeze', 'pause'] as const)(
  'what waits until a %s is in force waits for no slot of before the clock was set back',
  async (verb) => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('a', 0, { key: 'k' })
    const [a] = await stage.hand(0)
    expect(await stage.gate(a!, 0)).toMatchObject({ kind: 'granted' })
    const now = at(-TEN_MINUTES)
    const { verbs } = stage.backend
    const held = await (verb === 'pause' ? verbs.pause('k', now) : verbs.freeze('k', SECOND, now))
    expect(held.at).toBe(now)
    expect(held.departsAt).toBeGreaterThan(0)
    // No slot is further ahead.
    expect(held.departsAt).toBeLessThanOrEqual(now + SECOND / 2)
  },
)
