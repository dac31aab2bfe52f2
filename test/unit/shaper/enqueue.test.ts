import { describe, expect, test } from 'vitest'
import { IdConflictError, NoLimitError, Shaper } from '../../../src/index.ts'
import { JumpyClock } from '../../support/jumpy-clock.ts'
import { Stage } from '../../support/stage.ts'

describe('enqueue', () => {
  test('ten arrivals 100 ms apart at a capacity of 5 and a rate of two a second', async () => {
    const stage = new Stage('5, 2/s')
    stage.shaper.work(() => undefined)
    const verdicts = []
    for (let n = 0; n < 10; n++) {
      verdicts.push(await stage.shaper.enqueue('k', n))
      await stage.pass(100)
    }
    await stage.pass(5_000)
    expect(verdicts.slice(0, 7).every(({ accepted }) => accepted)).toBe(true)
    expect(verdicts.slice(7)).toMatchObject(
      [300, 200, 100].map((retryAfterMs) => ({
        accepted: false,
        reason: 'full',
        retryAfterMs,
        waiting: 5,
        capacity: 5,
      })),
    )
    expect(stage.starts.map(([, ms]) => ms)).toEqual([0, 500, 1_000, 1_500, 2_000, 2_500, 3_000])
    await stage.conforms({ minUtilisation: 0.999 })
  })

  test('emits a verdict with the time of the verdict, also in a process that is blocked after it', async () => {
    const shaper = new Shaper('held-up', { limits: { '*': '1, 1/s' }, clock: new JumpyClock([8_000]) })
    const times: number[] = []
    shaper.on('admitted', ({ at }) => void times.push(at))
    const admission = await shaper.enqueue('k', 1)
    expect(times).toEqual([admission.accepted && admission.departsAt])
  })

  test('returns place, time and wait; the job is known, and its data is a copy', async () => {
    const stage = new Stage('5, 2/s')
    const data = { text: 'hello', list: [1] }
    await stage.shaper.enqueue('k', 0)
    const admission = await stage.shaper.enqueue('k', data, {
      id: 'mine',
      cost: 2,
      attempts: 4,
      deadlineMs: 9_000,
    })
    expect(admission).toEqual({
      accepted: true,
      id: 'mine',
      key: 'k',
      position: 2,
      departsAt: 500,
      waitMs: 500,
      waiting: 3,
      capacity: 5,
    })
    data.list.push(2)
    expect(await stage.shaper.job('mine')).toEqual({
      id: 'mine',
      key: 'k',
      state: 'waiting',
      cost: 2,
      data: { text: 'hello', list: [1] },
      attempt: 0,
      attempts: 4,
      admittedAt: 0,
      position: 2,
      deadlineAt: 9_000,
    })
  })

  test('a job that costs more than the capacity can never fit, and the refusal says so', async () => {
    const stage = new Stage('5, 2/s')
    expect(await stage.shaper.enqueue('k', 0, { cost: 6 })).toEqual({
      accepted: false,
      reason: 'too-costly',
      key: 'k',
      retryAfterMs: Number.POSITIVE_INFINITY,
      waiting: 0,
      capacity: 5,
    })
    expect(await stage.shaper.inspect('k')).toBeUndefined()
  })

  test('costs count: one of cost 3 takes three places and three intervals', async () => {
    const stage = new Stage('5, 2/s')
    await stage.shaper.enqueue('k', 0, { id: 'k1', cost: 3 })
    expect(await stage.shaper.enqueue('k', 0, { cost: 3 })).toMatchObject({ accepted: false, waiting: 3 })
    expect(await stage.shaper.enqueue('k', 0, { id: 'k2', cost: 2 })).toMatchObject({ waitMs: 1_500 })
    stage.shaper.work(() => undefined)
    await stage.pass(5_000)
    expect(stage.starts).toEqual([
      ['k1', 0],
      ['k2', 1_500],
    ])
    await stage.conforms()
  })

  test('a key that no rule governs is refused, never unlimited', async () => {
    const stage = new Stage({ known: '5, 2/s' })
    await stage.refuses((shaper) => shaper.enqueue('k', 0), NoLimitError, 'no-limit', /"k"/)
    await stage.refuses((shaper) => shaper.forecast('k'), NoLimitError, 'no-limit', /"k"/)
  })
})

describe('an id', () => {
  test('that comes again with the same request gets the first answer, whatever became of the job', async () => {
    const stage = new Stage('5, 2/s')
    const first = await stage.shaper.enqueue('k', { n: 1 }, { id: 'x', cost: 2 })
    const again = () => stage.shaper.enqueue('k', { n: 1 }, { id: 'x', cost: 2 })
    expect(await again()).toEqual({ ...first, replayed: true })
    stage.shaper.work(() => undefined)
    await stage.pass(10_000)
    expect(await again()).toEqual({ ...first, waiting: 0, replayed: true })
    expect(await stage.shaper.audit()).toMatchObject({ admitted: 1, ended: 1 })
    await stage.conforms()
  })

  test.each([
    ['key', 'k/other', 1, 1],
    ['cost', 'k', 1, 2],
    ['data', 'k', 2, 1],
  ])('that comes again with another %s is refused', async (_, key, data, cost) => {
    const stage = new Stage('5, 2/s')
    await stage.shaper.enqueue('k', 1, { id: 'x', cost: 1 })
    await stage.refuses(
      (shaper) => shaper.enqueue(key, data, { id: 'x', cost }),
      IdConflictError,
      'id-conflict',
      /"x"/,
    )
  })

  test('that was generated is refused in a request, because no producer was promised an answer under it', async () => {
    const stage = new Stage('5, 2/s')
    const first = await stage.shaper.enqueue('k', 1)
    const id = first.accepted ? first.id : ''
    await stage.refuses(
      (shaper) => shaper.enqueue('k', 1, { id }),
      IdConflictError,
      'id-conflict',
      new RegExp(id),
    )
    await stage.refuses(
      (shaper) => shaper.enqueueMany([{ key: 'k', data: 1, id }]),
      IdConflictError,
      'id-conflict',
      new RegExp(id),
    )
  })

  test('of a refused request may come again, and is judged again', async () => {
    const stage = new Stage('1, 2/s')
    await stage.shaper.enqueue('k', 0)
    expect(await stage.shaper.enqueue('k', 1, { id: 'x' })).toMatchObject({
      accepted: false,
      retryAfterMs: 500,
    })
    stage.shaper.work(() => undefined)
    await stage.pass(500)
    expect(await stage.shaper.enqueue('k', 2, { id: 'x' })).toMatchObject({ accepted: true, id: 'x' })
  })

  test('is free again once its job is forgotten', async () => {
    const stage = new Stage('5, 2/s', { jobDefaults: { keepFinished: 1, keepFinishedMs: 1 } })
    stage.shaper.work(() => undefined)
    await stage.fill('k', 2)
    await stage.pass(5_000)
    expect(await stage.shaper.job('k1')).toBeUndefined()
    expect(await stage.shaper.job('k2')).toMatchObject({ state: 'completed' })
    expect(await stage.shaper.enqueue('k', 'new', { id: 'k1' })).not.toHaveProperty('replayed')
    await stage.pass(5_000)
    await stage.conforms()
  })
})

describe('enqueueMany', () => {
  test('returns verdicts in order: a job that fits, one that does not, and a cheaper one that fits again', async () => {
    const stage = new Stage({ '*': '3, 2/s', b: '1, 1/s' })
    const requests = [
      { key: 'a', data: 0, cost: 2 },
      { key: 'a', data: 0, cost: 2 },
      { key: 'b', data: 0 },
      { key: 'a', data: 0 },
      { key: 'b', data: 0 },
    ]
    const verdicts = await stage.shaper.enqueueMany(requests)
    expect(verdicts.map(({ accepted }) => accepted)).toEqual([true, false, true, true, false])
    expect(verdicts.map(({ key }) => key)).toEqual(requests.map(({ key }) => key))
    expect(await stage.shaper.audit()).toMatchObject({ admitted: 3, waiting: 3 })
    await stage.conforms({ unfinished: true })
  })

  test('gives the same verdicts as one by one', async () => {
    const [together, apart] = [new Stage('4, 2/s'), new Stage('4, 2/s')]
    const requests = [1, 3, 1, 2, 1].map((cost, n) => ({ key: 'k', data: n, cost, id: `k${n}` }))
    const verdicts = []
    for (const { key, data, ...options } of requests)
      verdicts.push(await apart.shaper.enqueue(key, data, options))
    expect(await together.shaper.enqueueMany(requests)).toEqual(verdicts)
  })

  test('of nothing is nothing', async () => {
    expect(await new Stage('1, 1/s').shaper.enqueueMany([])).toEqual([])
  })

  test('the same id twice is one job; returned twice, counted once', async () => {
    const stage = new Stage('5, 2/s')
    const one = { key: 'k', data: 1, id: 'x' }
    const [first, second] = await stage.shaper.enqueueMany([one, one])
    expect(second).toEqual({ ...first, replayed: true })
    expect(await stage.shaper.audit()).toMatchObject({ admitted: 1 })
    await stage.conforms({ unfinished: true })
  })

  test('the same id for two different jobs admits neither, nor any other of the call', async () => {
    const stage = new Stage('5, 2/s')
    await stage.refuses(
      (shaper) =>
        shaper.enqueueMany([
          { key: 'k', data: 0 },
          { key: 'k', data: 1, id: 'x' },
          { key: 'k', data: 2, id: 'x' },
        ]),
      IdConflictError,
      'id-conflict',
      /"x"/,
    )
  })

  test('a job that is due makes room first', async () => {
    const stage = new Stage('2, 2/s')
    stage.shaper.work(() => undefined)
    const verdicts = await stage.fill('k', 2)
    expect(verdicts.map(({ accepted }) => accepted)).toEqual([true, true])
    // In the very tick: k1 is due, and has not been handed over yet.
    const more = await stage.shaper.enqueueMany([{ key: 'k', data: 0, id: 'k3' }])
    expect(more[0]).toMatchObject({ accepted: true, position: 2, waitMs: 1_000 })
    await stage.pass(2_000)
    await stage.conforms()
  })
})
