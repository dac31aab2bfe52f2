import { describe, expect, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { at, msAt } from '../support/backend-driver.ts'
import { BACK, COMPLETED, RedisStage } from './redis-stage.ts'

describe('a limit that is lowered while a slot is granted counts from the last start', () => {
  /** At 10/s `x` has started at 0 and `y` has the slot at 0.1; then the limit is lowered to 1/s. */
  async function lowered() {
    const stage = await RedisStage.open('9, 10/s')
    await stage.lineUp('xyz', 0)
    await stage.run(0)
    const [y] = await stage.hand(0.09, 50)
    expect(await stage.gate(y!, 0.09)).toMatchObject({ kind: 'granted', slot: at(0.1) })
    await stage.backend.rules.change({ kind: 'set', rule: parseRule('*', '9, 1/s') }, at(0.095))
    return { stage, y: y! }
  }

  /** The start at 0 may have been late by the tolerance of 5 ms, and the grid would still lie there. */
  async function expectFromLastStart(stage: RedisStage): Promise<void> {
    expect(await stage.inspect('a', 0.2)).toMatchObject({ limit: '9, 1/s', nextDepartureAt: msAt(0.995) })
    await stage.balances()
    expect(await stage.hand(0.994)).toEqual([])
    expect((await stage.run(0.995)).id).toBe('y')
    expect(await stage.hand(1.994)).toEqual([])
    expect((await stage.run(1.995)).id).toBe('z')
  }

  test('when the slot is missed', async () => {
    const { stage, y } = await lowered()
    expect(await stage.gate(y, 0.15, { missed: at(0.1) })).toEqual({ kind: 'returned' })
    await expectFromLastStart(stage)
  })

  test('when it is missed by far, and the worker does not know it', async () => {
    const { stage, y } = await lowered()
    expect(await stage.gate(y, 0.36)).toEqual({ kind: 'returned' })
    await expectFromLastStart(stage)
  })

  test('when the worker sends it back', async () => {
    const { stage, y } = await lowered()
    expect(await stage.finish(y, BACK, 0.15)).toMatchObject({ isMine: true })
    await expectFromLastStart(stage)
  })

  test('while one that is on time keeps the slot', async () => {
    const { stage, y } = await lowered()
    expect(await stage.start(y, 0.1)).toBe(true)
    expect(await stage.hand(1.094)).toEqual([])
    expect((await stage.run(1.1)).id).toBe('z')
  })
})

describe('the deadline of a job that has a slot', () => {
  /** Its deadline is at 1; it is granted a slot at 0.99. */
  async function granted() {
    const stage = await RedisStage.open('9, 1/s')
    await stage.admit('x', 0, { deadline: at(1) })
    const [x] = await stage.hand(0)
    expect(await stage.gate(x!, 0.99)).toMatchObject({ kind: 'granted', slot: at(0.99) })
    expect(await stage.backend.verbs.expire(0, at(1.01))).toEqual([])
    expect(await stage.views.job('x', at(1.01))).toMatchObject({ state: 'handed', attempt: 1 })
    return { stage, x: x! }
  }

  test('is not forgotten: sent back by its worker it expires', async () => {
    const { stage, x } = await granted()
    expect(await stage.finish(x, BACK, 1.02)).toMatchObject({ isMine: true })
    expect(await stage.backend.verbs.expire(0, at(1.5))).toMatchObject([{ id: 'x', key: 'a', attempt: 0 }])
    expect(await stage.state('x', 1.5)).toBe('expired')
    await stage.balances()
  })

  test('is not forgotten: lost with its worker it expires', async () => {
    const { stage } = await granted()
    await stage.recover(40)
    expect(await stage.state('x', 40)).toBe('retrying')
    expect(await stage.backend.verbs.expire(0, at(41))).toMatchObject([{ id: 'x' }])
    await stage.balances()
  })

  test('has no effect once it has started', async () => {
    const { stage, x } = await granted()
    expect(await stage.start(x, 0.99)).toBe(true)
    expect(await stage.backend.verbs.expire(0, at(1.5))).toEqual([])
    expect(await stage.finish(x, COMPLETED, 2)).toMatchObject({ isMine: true })
    expect(await stage.backend.verbs.expire(0, at(3))).toEqual([])
    expect(await stage.state('x', 3)).toBe('completed')
    await stage.balances()
  })
})

test('the second of two that were handed over never waits for the end of a freeze, which may be lifted', async () => {
  const stage = await RedisStage.open('99, 10/s')
  await stage.lineUp('xy', 0)
  const [x, y] = await stage.hand(0, 250)
  await stage.backend.verbs.freeze('a', 3_600 * SECOND, at(0))
  const asked = await stage.gate(y!, 0.01)
  expect(asked.kind === 'wait' && asked.until <= at(0.26)).toBe(true)
  await stage.backend.verbs.unfreeze('a', at(0.02))
  await stage.gate(x!, 0.02)
  await stage.start(x!, 0.02)
  expect(await stage.gate(y!, 0.12)).toMatchObject({ kind: 'granted', slot: at(0.12) })
})

test('a grant says until when the bucket is frozen, and nothing of a freeze that is over', async () => {
  const stage = await RedisStage.open('99, 10/s')
  await stage.lineUp('x', 0)
  const [x] = await stage.hand(0, 250)
  await stage.backend.verbs.freeze('a', 0.2 * SECOND, at(0))
  expect(await stage.gate(x!, 0.1)).toMatchObject({ startAt: at(0.2), frozenUntil: at(0.2) })
  expect(await stage.gate(x!, 0.2)).toMatchObject({ startAt: at(0.2), frozenUntil: undefined })
})

test('a grant reports the slot of the grid that the job came too late for, once', async () => {
  const stage = await RedisStage.open('99, 10/s')
  await stage.lineUp('xyz', 0)
  await stage.run(0)
  const [y, z] = await stage.hand(0.05, 150)
  expect(await stage.gate(y!, 0.102)).toMatchObject({ slot: at(0.1), due: at(0.1) })
  await stage.start(y!, 0.102)
  const late = await stage.gate(z!, 0.23)
  expect(late).toMatchObject({ slot: at(0.23), due: at(0.2) })
  expect(await stage.gate(z!, 0.24, { missed: at(0.23) })).toMatchObject({ slot: at(0.24), due: at(0.24) })
})
