import { describe, expect, it } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import type { FinishOutcome } from '../../src/redis/verbs/finish.ts'
import { at } from '../support/backend-driver.ts'
import { RedisStage } from './redis-stage.ts'

const FREEZE: FinishOutcome = { kind: 'freeze', duration: 5 * SECOND }
const GIVEN_BACK: FinishOutcome = { kind: 'freeze', duration: 0 }

/** `x` runs, alone in its bucket. */
async function running() {
  const stage = await RedisStage.open('9, 1/s', { openedAt: at(0) })
  await stage.lineUp('x', 0, { key: 'k' })
  return { stage, x: await stage.run(0) }
}

describe('a report that a job froze its bucket, which comes again because its answer was lost,', () => {
  it('is answered with the freeze that it began, and when that was', async () => {
    const { stage, x } = await running()
    const first = { isMine: true, at: at(1), readyAt: at(6) }
    expect(await stage.finish(x, FREEZE, 1)).toMatchObject(first)
    const before = await stage.dump()
    expect(await stage.finish(x, FREEZE, 2)).toEqual(first)
    // With the start, and after the freeze.
    expect(await stage.finish(x, FREEZE, 7, 0)).toEqual(first)
    expect(await stage.dump()).toEqual(before)
    expect((await stage.inspect('k', 2))?.frozenUntil).toBe(at(6) / 1_000)
    await stage.balances()
  })

  it('is answered with the longer freeze that was there before it', async () => {
    const { stage, x } = await running()
    await stage.backend.verbs.freeze('k', 60 * SECOND, at(0.5))
    const first = await stage.finish(x, FREEZE, 1)
    expect(first).toMatchObject({ at: at(1), readyAt: at(60.5) })
    expect(await stage.finish(x, FREEZE, 2)).toEqual(first)
  })

  it('is answered as at first also where the freeze was made longer or lifted meanwhile', async () => {
    const { stage, x } = await running()
    const first = await stage.finish(x, FREEZE, 1)
    await stage.backend.verbs.freeze('k', 60 * SECOND, at(1.5))
    expect(await stage.finish(x, FREEZE, 2)).toEqual(first)
    expect((await stage.backend.verbs.unfreeze('k', at(3))).isLifted).toBe(true)
    expect(await stage.finish(x, FREEZE, 3.5)).toEqual(first)
  })

  it('is answered with the freeze as it moved when the clock was set back', async () => {
    const { stage, x } = await running()
    await stage.finish(x, FREEZE, 1)
    stage.isSilent = true
    await stage.jump(1 - 600)
    const moved = { isMine: true, at: at(1 - 600), readyAt: at(6 - 600) }
    expect(await stage.finish(x, FREEZE, 2 - 600)).toEqual(moved)
    expect((await stage.inspect('k', 2 - 600))?.frozenUntil).toBe(at(6 - 600) / 1_000)
  })

  it('belongs to no worker any more when the job was handed over again', async () => {
    const { stage, x } = await running()
    await stage.finish(x, FREEZE, 1)
    expect(await stage.hand(6)).toMatchObject([{ id: 'x' }])
    expect(await stage.finish(x, FREEZE, 6)).toEqual({ isMine: false, at: at(6) })
  })
})

it('a report that a job is given back, which comes again, says when it went back', async () => {
  const { stage, x } = await running()
  const first = { isMine: true, at: at(1), readyAt: at(1) }
  expect(await stage.finish(x, GIVEN_BACK, 1)).toMatchObject(first)
  expect(await stage.finish(x, GIVEN_BACK, 2)).toEqual(first)
  expect((await stage.inspect('k', 2))?.frozenUntil).toBeUndefined()
})
