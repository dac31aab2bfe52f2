import { describe, expect, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import type { FinishOutcome } from '../../src/redis/verbs/finish.ts'
import { at } from '../support/backend-driver.ts'
import { RedisStage } from './redis-stage.ts'

const later = (seconds: number): FinishOutcome => ({ kind: 'back', worker: 'w1', delay: seconds * SECOND })
const ids = (jobs: readonly { readonly id: string }[]) => jobs.map(({ id }) => id)

describe('a job that a worker gives back for a time', () => {
  test('stays in its line so long, with those behind it, and keeps its place, its attempt and its slot', async () => {
    const stage = await RedisStage.open('9, 10/s')
    await stage.lineUp('xy', 0)
    await stage.lineUp('z', 0, { key: 'b' })
    const [x] = await stage.hand(0)
    expect(await stage.finish(x!, later(5), 0)).toMatchObject({ isMine: true })
    expect(await stage.views.job('x', 0)).toMatchObject({ state: 'waiting', attempt: 0, position: 1 })
    expect(ids(await stage.hand(0.1))).toEqual([])
    await stage.lineUp('v', 1)
    expect(ids(await stage.hand(4.99))).toEqual([])
    const [again] = await stage.hand(5)
    expect(again!.id).toBe('x')
    expect(await stage.gate(again!, 5)).toMatchObject({ kind: 'granted' })
    expect(await stage.start(again!, 5)).toBe(true)
    expect(ids(await stage.hand(5.1))).toEqual(['y'])
    await stage.balances()
  })

  test('is named to the scheduler for that time, and no bucket is looked at before', async () => {
    const stage = await RedisStage.open('9, 10/s')
    await stage.lineUp('x', 0)
    const [x] = await stage.hand(0)
    await stage.finish(x!, later(5), 0)
    const { jobs, nextClaim, now } = await stage.claim(0.01)
    expect([jobs, (nextClaim - now) / SECOND]).toEqual([[], 4.99])
  })

  test('does not hold up one of its bucket that is with a worker already', async () => {
    const stage = await RedisStage.open('9, 10/s')
    await stage.lineUp('xy', 0)
    const [x, y] = await stage.hand(0, 200)
    expect(await stage.finish(y!, later(5), 0)).toMatchObject({ isMine: true })
    expect(await stage.gate(x!, 0)).toMatchObject({ kind: 'granted', startAt: at(0) })
    expect(await stage.start(x!, 0)).toBe(true)
    expect(ids(await stage.hand(0.1))).toEqual(['y'])
    await stage.balances()
  })

  test('and again: the longer time counts; nothing is left of it when the job has gone', async () => {
    const stage = await RedisStage.open('9, 10/s')
    await stage.lineUp('xy', 0)
    const [x, y] = await stage.hand(0, 200)
    await stage.finish(y!, later(9), 0)
    await stage.finish(x!, later(1), 0)
    expect(ids(await stage.hand(8.9))).toEqual([])
    expect(await stage.backend.verbs.cancel('x')).toMatchObject({ id: 'x' })
    expect(await stage.backend.verbs.cancel('y')).toMatchObject({ id: 'y' })
    await stage.lineUp('z', 8.9)
    expect(ids(await stage.hand(8.9))).toEqual(['z'])
    await stage.balances()
  })
})
