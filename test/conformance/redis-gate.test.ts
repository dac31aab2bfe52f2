import { describe, expect, test } from 'vitest'
import { MILLISECOND, SECOND } from '../../src/core/duration.ts'
import { at, msAt, SETTINGS } from '../support/backend-driver.ts'
import { BACK, COMPLETED, RedisStage } from './redis-stage.ts'

const ids = (jobs: readonly { readonly id: string }[]) => jobs.map(({ id }) => id)

describe('grants', () => {
  test('return the slot, how late the start may be, and the job', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('x', 0, { data: '[{}]', cost: 2 })
    const [x] = await stage.hand(0)
    expect(await stage.gate(x!, 0.002)).toEqual({
      ...{ kind: 'granted', runInterval: 0, mayRun: false },
      slot: at(0.002),
      due: at(0.002),
      startAt: at(0.002),
      latest: expect.any(Number),
      tolerance: 5_000,
      pace: { pattern: '*', lastStart: Number.NEGATIVE_INFINITY, spacing: 0 },
      job: {
        id: 'x',
        key: 'a',
        data: '[{}]',
        cost: 2,
        settings: SETTINGS,
        attempt: 1,
        crashes: 0,
        fence: expect.any(Number),
        admittedAt: at(0),
      },
    })
    expect(await stage.views.job('x', at(0.002))).toMatchObject({ state: 'handed', attempt: 1 })
    expect(await stage.views.audit()).toMatchObject({ waiting: 0, handed: 1, running: 0 })
    expect(await stage.start(x!, 0.003)).toBe(true)
    expect(await stage.views.job('x', at(0.003))).toMatchObject({ state: 'running' })
    expect(await stage.views.audit()).toMatchObject({ handed: 0, running: 1 })
  })

  test('go in the order of handing over: the second waits until the first has started', async () => {
    const stage = await RedisStage.open('99, 10/s')
    await stage.lineUp('xy', 0)
    const [x, y] = await stage.hand(0, 250)
    const early = await stage.gate(y!, 0)
    expect(early).toMatchObject({ kind: 'wait' })
    expect(early.kind === 'wait' && early.until > at(0)).toBe(true)
    expect(await stage.gate(x!, 0)).toMatchObject({ kind: 'granted', slot: at(0) })
    expect(await stage.gate(y!, 0.05)).toMatchObject({ kind: 'wait' })
    await stage.start(x!, 0)
    expect(await stage.gate(y!, 0.05)).toMatchObject({ kind: 'granted', slot: at(0.1), startAt: at(0.1) })
  })

  test('one of a bucket has a slot and has not started, also when all ask in one call', async () => {
    const stage = await RedisStage.open('99, 10/s')
    await stage.lineUp('xyz', 0)
    await stage.lineUp('b', 0, { key: 'b' })
    const handed = await stage.hand(0, 250)
    const asked = handed.map((job) => ({ ...job, worker: 'w1', lead: 0, error: 0, lease: SECOND }))
    const { answers, now } = await stage.backend.verbs.gate(0, asked.toReversed(), at(0))
    const kinds = Object.fromEntries(answers.map(({ kind }, index) => [asked.toReversed()[index]!.id, kind]))
    expect(kinds).toEqual({ x: 'granted', y: 'wait', z: 'wait', b: 'granted' })
    expect(now).toBe(at(0))
  })

  test('asked again, the same worker gets the same answer; another has no right to it', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('x', 0)
    const [x] = await stage.hand(0)
    const first = await stage.gate(x!, 0, { lead: 10 * MILLISECOND })
    expect(await stage.gate(x!, 0.004, { lead: 10 * MILLISECOND })).toEqual(first)
    expect(await stage.gate(x!, 0.004, { worker: 'w2' })).toEqual({ kind: 'stale' })
    expect(await stage.start(x!, 0.01)).toBe(true)
    expect(await stage.gate(x!, 0.02)).toEqual({ kind: 'stale' })
  })

  test('a start that is reported twice counts once', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xy', 0)
    const x = await stage.run(0)
    expect(await stage.start(x, 0)).toBe(true)
    expect(await stage.inspect('a', 0)).toMatchObject({ running: 1, waiting: 1 })
    await stage.balances()
  })

  test('a start can be reported with the end', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xy', 0)
    const [x] = await stage.hand(0)
    await stage.gate(x!, 0)
    expect(await stage.finish(x!, COMPLETED, 0.5)).toMatchObject({ isMine: false })
    expect(await stage.finish(x!, COMPLETED, 0.5, 0.001)).toEqual({ isMine: true, at: at(0.5) })
    expect(await stage.views.job('x', at(1))).toMatchObject({
      state: 'completed',
      departedAt: at(0.001) / 1_000,
    })
    expect(await stage.inspect('a', 1)).toMatchObject({ running: 0, waiting: 1 })
    await stage.balances()
  })
})

describe('the lead', () => {
  test('keeps the slot of an idle bucket as far away as the answer takes', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('x', 0)
    const [x] = await stage.hand(0)
    const slot = at(0.025)
    expect(await stage.gate(x!, 0.005, { lead: 20 * MILLISECOND })).toMatchObject({ slot, startAt: slot })
  })

  test('leaves a slot of the grid alone that is further away', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xy', 0)
    await stage.run(0)
    const [y] = await stage.hand(0.95, 100)
    expect(await stage.gate(y!, 0.96, { lead: 20 * MILLISECOND })).toMatchObject({
      slot: at(1),
      startAt: at(1),
    })
  })

  test('makes no slot further away than 250 ms: the job goes back', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('x', 0)
    const [x] = await stage.hand(0)
    expect(await stage.gate(x!, 0, { lead: 251 * MILLISECOND })).toEqual({ kind: 'returned' })
  })

  test('may take all of the tolerance; beyond, the slot moves', async () => {
    const granted = async (seconds: number) => {
      const stage = await RedisStage.open('9, 1/s')
      await stage.lineUp('xy', 0)
      await stage.run(0)
      const [y] = await stage.hand(0.95, 100)
      return stage.gate(y!, seconds, { lead: 10 * MILLISECOND })
    }
    expect(await granted(0.992)).toMatchObject({ slot: at(1), startAt: at(1.002) })
    expect(await granted(0.995)).toMatchObject({ slot: at(1), startAt: at(1.005) })
    expect(await granted(0.995 + 1e-6)).toMatchObject({ slot: at(1.005) + 1, startAt: at(1.005) + 1 })
  })
})

describe('a late start', () => {
  /** The slot after one of 1 s whose start was so late. */
  async function slotAfter(lateMs: number): Promise<number> {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xyz', 0)
    await stage.run(0)
    const [y] = await stage.hand(1)
    await stage.gate(y!, 1)
    expect(await stage.start(y!, 1 + lateMs / 1_000)).toBe(true)
    return ((await stage.inspect('a', 1 + lateMs / 1_000))!.nextDepartureAt! - msAt(0)) / 1_000
  }

  test.each([
    ['within the tolerance, less what two clocks may differ, leaves the grid alone', 4.5, 2],
    ['beyond that moves it', 4.502, 2.004502],
    ['of a worker that was stopped moves it as far', 220, 2.22],
  ])('%s', async (_, lateMs, next) => {
    expect(await slotAfter(lateMs)).toBeCloseTo(next, 5)
  })

  test('that kept its slot lets the next one come nearer by a little at the most, and the grid is caught up with', async () => {
    const stage = await RedisStage.open('9, 100/s, 9999/day')
    await stage.lineUp('wxyz', 0)
    await stage.run(0)
    const [x] = await stage.hand(0.01)
    await stage.gate(x!, 0.01)
    await stage.start(x!, 0.012)
    const [y, z] = await stage.hand(0.012, 20)
    expect(await stage.gate(y!, 0.012)).toMatchObject({ slot: at(0.02), startAt: at(0.0212) })
    await stage.start(y!, 0.0212)
    expect(await stage.gate(z!, 0.0212)).toMatchObject({ slot: at(0.03), startAt: at(0.0304) })
  })

  test('of a job that found the bucket idle is where the grid begins', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xy', 0)
    const [x] = await stage.hand(0)
    await stage.gate(x!, 0)
    await stage.start(x!, 0.003)
    expect(await stage.inspect('a', 0.003)).toMatchObject({ nextDepartureAt: msAt(1.003) })
  })

  test('is never before its slot, whatever a clock reads', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xy', 0)
    const [x] = await stage.hand(0)
    await stage.gate(x!, 0, { lead: 100 * MILLISECOND })
    await stage.start(x!, 0.05)
    expect(await stage.inspect('a', 0.2)).toMatchObject({ nextDepartureAt: msAt(1.1) })
  })
})

describe('a slot that was missed', () => {
  test('moves, and the next departure with it; the attempt is the same', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xy', 0)
    const [x] = await stage.hand(0)
    const first = await stage.gate(x!, 0)
    const again = await stage.gate(x!, 0.4, { missed: at(0) })
    expect(again).toMatchObject({ kind: 'granted', slot: at(0.4), job: { attempt: 1 } })
    expect(again.kind === 'granted' && first.kind === 'granted' && again.job.fence >= first.job.fence).toBe(
      true,
    )
    await stage.start(x!, 0.4)
    expect(await stage.inspect('a', 0.4)).toMatchObject({ nextDepartureAt: at(1.4) / 1_000, running: 1 })
    await stage.balances()
  })

  test('is reported once: asked twice about it, the new slot stays', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('x', 0)
    const [x] = await stage.hand(0)
    await stage.gate(x!, 0)
    const moved = await stage.gate(x!, 0.4, { missed: at(0) })
    expect(await stage.gate(x!, 0.401, { missed: at(0) })).toMatchObject({ slot: at(0.4) })
    expect(moved).toMatchObject({ slot: at(0.4) })
  })

  test('keeps its distance from the start before it', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xyz', 0)
    await stage.run(0)
    const [y] = await stage.hand(1)
    await stage.gate(y!, 1)
    expect(await stage.gate(y!, 1.02, { missed: at(1) })).toMatchObject({ slot: at(1.02) })
    await stage.start(y!, 1.02)
    expect(await stage.hand(2.019)).toEqual([])
    expect(ids(await stage.hand(2.02))).toEqual(['z'])
  })
})

describe('sent back', () => {
  test('by a freeze that came meanwhile: to the head, with the jobs behind it, no attempt used up', async () => {
    const stage = await RedisStage.open('99, 10/s')
    await stage.lineUp('xyzq', 0)
    const [x, y] = await stage.hand(0, 250)
    await stage.backend.verbs.freeze('a', 9 * SECOND, at(0))
    expect(await stage.gate(x!, 0)).toEqual({ kind: 'returned' })
    expect(await stage.views.job('x', at(0))).toMatchObject({ state: 'waiting', attempt: 0, position: 1 })
    await stage.balances()
    expect(await stage.gate(x!, 0)).toEqual({ kind: 'stale' })
    expect(['wait', 'returned', 'stale']).toContain((await stage.gate(y!, 0)).kind)
    expect(await stage.hand(8)).toEqual([])
    const order: string[] = []
    for (let tenth = 0; tenth < 4; tenth++) {
      const job = await stage.run(9 + tenth / 10)
      order.push(job.id)
      expect(job.epoch).toBeGreaterThan(job.id === 'q' ? 0 : 1)
    }
    expect(order).toEqual(['x', 'y', 'z', 'q'])
  })

  test('by a pause, and a slot that was granted already still counts', async () => {
    const stage = await RedisStage.open('99, 10/s')
    await stage.lineUp('xyz', 0)
    const [x, y] = await stage.hand(0, 150)
    await stage.gate(x!, 0)
    await stage.backend.verbs.pause('a', at(0))
    expect(await stage.start(x!, 0)).toBe(true)
    expect(await stage.gate(y!, 0.1)).toEqual({ kind: 'returned' })
    await stage.backend.verbs.resume('a', at(5))
    expect(ids(await stage.hand(5))).toEqual(['y'])
    await stage.balances()
  })

  test('by a slot that is more than 250 ms away; nearer ones are waited for', async () => {
    const stage = await RedisStage.open('9, 2/s')
    await stage.lineUp('xy', 0)
    await stage.run(0)
    const [y] = await stage.hand(0.1, 500)
    expect(await stage.gate(y!, 0.2)).toEqual({ kind: 'returned' })
    expect(await stage.inspect('a', 0.2)).toMatchObject({ nextDepartureAt: at(0.5) / 1_000 })
    const [again] = await stage.hand(0.25, 500)
    expect(again!.id).toBe('y')
    expect(await stage.gate(again!, 0.25)).toMatchObject({ kind: 'granted', slot: at(0.5) })
  })

  test('by its worker, which closes: the slot is given back with it', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xy', 0)
    const [x] = await stage.hand(0)
    expect(await stage.gate(x!, 0, { lead: 100 * MILLISECOND })).toMatchObject({ slot: at(0.1) })
    const before = await stage.dump()
    // It was delivered twice, and the other worker closes.
    expect(await stage.finish(x!, { kind: 'back', worker: 'w2' }, 0.05)).toMatchObject({ isMine: false })
    expect(await stage.dump()).toEqual(before)
    expect(await stage.finish(x!, BACK, 0.05)).toMatchObject({ isMine: true })
    expect(await stage.views.job('x', at(0.05))).toMatchObject({
      state: 'waiting',
      attempt: 0,
      position: 1,
    })
    await stage.balances()
    const again = await stage.run(0.2)
    expect(again.id).toBe('x')
    expect(await stage.finish(again, BACK, 0.3)).toMatchObject({ isMine: false })
  })

  test('several at once come back in their order', async () => {
    const stage = await RedisStage.open('99, 10/s')
    await stage.lineUp('wxyz', 0)
    const handed = await stage.hand(0, 350)
    expect(ids(handed)).toEqual(['w', 'x', 'y', 'z'])
    await stage.gate(handed[0]!, 0)
    const back = [handed[2]!, handed[0]!, handed[3]!, handed[1]!]
    await stage.backend.verbs.finish(
      0,
      back.map((job) => ({ ...job, outcome: BACK })),
      at(0),
    )
    await stage.balances()
    expect(ids(await stage.hand(0, 350))).toEqual(['w', 'x', 'y', 'z'])
  })

  test('a retry keeps its turn before the line, and its error', async () => {
    const stage = await RedisStage.open('99, 10/s')
    await stage.lineUp('rx', 0)
    const r = await stage.run(0)
    await stage.finish(r, { kind: 'retry', error: 'no', delay: 0 }, 0.01)
    const [again] = await stage.hand(0.1)
    expect(again!.id).toBe('r')
    await stage.finish(again!, BACK, 0.1)
    expect(await stage.views.job('r', at(0.1))).toMatchObject({
      state: 'retrying',
      attempt: 1,
      position: 1,
      error: 'no',
    })
    expect((await stage.run(0.1)).id).toBe('r')
    await stage.balances()
  })

  test('one of the line keeps its turn before retries', async () => {
    const stage = await RedisStage.open('99, 10/s')
    await stage.lineUp('rsx', 0)
    for (const seconds of [0, 0.1]) {
      const job = await stage.run(seconds)
      await stage.finish(job, { kind: 'retry', error: 'no', delay: 0.15 * SECOND }, seconds)
    }
    expect((await stage.run(0.25)).id).toBe('r')
    const [x] = await stage.hand(0.35)
    expect(x!.id).toBe('x')
    await stage.finish(x!, BACK, 0.35)
    expect((await stage.run(0.35)).id).toBe('x')
    expect((await stage.run(0.45)).id).toBe('s')
    await stage.balances()
  })

  test('one that a freeze gave back stays before all others', async () => {
    const stage = await RedisStage.open('99, 10/s')
    await stage.lineUp('fx', 0)
    await stage.finish(await stage.run(0), { kind: 'freeze', duration: 0.1 * SECOND }, 0.01)
    const [given] = await stage.hand(0.2)
    expect(given!.id).toBe('f')
    await stage.finish(given!, BACK, 0.2)
    expect(await stage.views.job('f', at(0.2))).toMatchObject({
      state: 'retrying',
      attempt: 0,
      position: 1,
    })
    expect((await stage.run(0.2)).id).toBe('f')
    await stage.balances()
  })
})

describe('refused', () => {
  test('a job that is unknown, of another epoch, or past its deadline', async () => {
    const stage = await RedisStage.open('9, 1/s')
    expect(await stage.gate({ id: 'unknown', epoch: 1 }, 0)).toEqual({ kind: 'stale' })
    await stage.admit('x', 0, { deadline: at(1) })
    const [x] = await stage.hand(0)
    expect(await stage.gate({ id: 'x', epoch: 2 }, 0)).toEqual({ kind: 'stale' })
    expect(await stage.gate({ id: 'x', epoch: 0 }, 0)).toEqual({ kind: 'stale' })
    expect(await stage.gate(x!, 1.005 + 1e-6)).toMatchObject({
      kind: 'expired',
      job: { id: 'x', key: 'a', cost: 1, attempt: 0 },
    })
    expect(await stage.state('x')).toBe('expired')
    await stage.balances()
    await stage.lineUp('y', 2)
    expect(await stage.run(2)).toMatchObject({ id: 'y' })
  })

  test('a slot whose lead reaches beyond the deadline is not granted', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.admit('x', 0, { deadline: at(1) })
    const [x] = await stage.hand(0)
    expect(await stage.gate(x!, 0.99, { lead: 20 * MILLISECOND })).toMatchObject({ kind: 'expired' })
  })

  test('one that has a slot cannot be cancelled', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('x', 0)
    const [x] = await stage.hand(0)
    await stage.gate(x!, 0)
    expect(await stage.backend.verbs.cancel('x', at(0))).toBeUndefined()
    expect(await stage.start(x!, 0)).toBe(true)
  })
})
