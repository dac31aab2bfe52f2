import { describe, expect, test } from 'vitest'
import { InvalidKeyError, InvalidOptionsError } from '../../../src/index.ts'
import { neverSettles, Stage } from '../../support/stage.ts'

const reasonsOf = async ({ shaper }: Stage, id: string) =>
  (await shaper.explain(id))?.holds.map(({ reason }) => reason)

describe('explain', () => {
  test('no worker, before it is due as well as after', async () => {
    const stage = new Stage('9, 1/s')
    await stage.fill('a', 2)
    expect(await stage.shaper.explain('a2')).toEqual({
      id: 'a2',
      key: 'a',
      state: 'waiting',
      position: 2,
      holds: [
        { reason: 'no-worker', detail: expect.stringContaining('none was opened, or all are closed') },
        { reason: 'line', detail: '1 job departs before it' },
      ],
      ahead: { jobs: 1, cost: 1, ids: ['a1'] },
      rule: { pattern: '*', limit: '9, 1/s', origin: 'code', by: expect.any(String), at: 0 },
      summary: 'Second in line of a: could depart in 1 s at 1/s, behind 1 job, but no worker takes jobs.',
      summaryWithoutTimes:
        'Second in line of a: could depart at 1/s, behind 1 job, but no worker takes jobs.',
    })
    const worker = stage.shaper.work(neverSettles)
    await stage.pass(0)
    expect(await reasonsOf(stage, 'a2')).toEqual(['slot'])
    expect((await stage.shaper.explain('a2'))?.departsAt).toBe(1_000)
    void worker.close()
    expect(await reasonsOf(stage, 'a2')).toEqual(['no-worker', 'slot'])
  })

  test('every handler runs: a hold only when the head is due', async () => {
    const stage = new Stage('9, 1/s')
    stage.shaper.work(neverSettles, { concurrency: 1 })
    await stage.fill('a', 3)
    expect(await reasonsOf(stage, 'a3')).toEqual(['line'])
    await stage.pass(1_500)
    expect(await reasonsOf(stage, 'a3')).toEqual(['busy', 'line'])
    expect((await stage.shaper.explain('a2'))?.summary).toBe(
      'First in line of a: could depart now, but every handler is busy.',
    )
    stage.shaper.work(neverSettles, { concurrency: 1 })
    await stage.pass(0)
    expect(stage.startsOf('a')).toEqual([0, 1_500])
    expect((await stage.shaper.explain('a2'))?.summary).toBe('Running for 0 ms since it departed from a.')
  })

  test('handlers are free, but kept for other keys', async () => {
    const stage = new Stage('9, 1/s')
    stage.shaper.work(neverSettles, { concurrency: 4 })
    await stage.fill('b', 1)
    await stage.fill('a', 4)
    await stage.pass(2_500)
    expect(stage.startsOf('a')).toEqual([0, 1_000])
    expect(await stage.shaper.explain('a3')).toMatchObject({
      holds: [
        { reason: 'busy', detail: expect.stringMatching(/share of the handlers: 3 run, and the free ones/) },
      ],
      summary:
        'First in line of a: could depart now, but the key or its segment has its share of the handlers.',
    })
  })

  test('the rule that governs, and its author', async () => {
    const stage = new Stage({ '*': '9, 1/s' })
    stage.shaper.work(neverSettles)
    await stage.fill('a', 2)
    await stage.pass(0)
    await stage.shaper.limits.set('a', '5, 2/s', { by: 'ann' })
    expect(await stage.shaper.explain('a2')).toMatchObject({
      rule: { pattern: 'a', limit: '5, 2/s', origin: 'override', by: 'ann' },
      departsAt: 500,
    })
    await stage.shaper.limits.reset('a')
    await stage.shaper.limits.unset('*')
    const { rule, holds } = (await stage.shaper.explain('a2'))!
    expect([rule, holds.map(({ reason }) => reason)]).toEqual([undefined, ['slot', 'no-rule']])
  })

  test('of a turn, which needs no worker', async () => {
    const stage = new Stage('9, 1/s')
    const turns = [stage.shaper.acquire('a'), stage.shaper.acquire('a')]
    await stage.pass(0)
    const { jobs } = (await stage.shaper.line('a'))!
    expect(jobs).toEqual([{ id: expect.any(String), cost: 1, state: 'waiting', admittedAt: 0, isTurn: true }])
    expect(await reasonsOf(stage, jobs[0]!.id)).toEqual(['slot'])
    await stage.pass(1_000)
    await Promise.all(turns)
  })

  test('of an unknown job', async () => {
    const { shaper } = new Stage('9, 1/s')
    expect(await shaper.explain('unknown')).toBeUndefined()
    expect(await shaper.line('unknown')).toBeUndefined()
  })

  test('what cannot be asked is refused', async () => {
    const stage = new Stage('9, 1/s')
    await stage.refuses(
      (shaper) => shaper.explain(7 as never),
      InvalidOptionsError,
      'invalid-options',
      /got: 7/,
    )
    await stage.refuses((shaper) => shaper.line(''), InvalidKeyError, 'invalid-key', /1 to 256/)
    for (const limit of [0, 201, 1.5, '9']) {
      const ask = () => stage.shaper.line('a', { limit: limit as number })
      await stage.refuses(ask, InvalidOptionsError, 'invalid-options', /limit/)
    }
    await stage.refuses((shaper) => shaper.recent(''), InvalidKeyError, 'invalid-key', /1 to 256/)
  })
})

describe('recent', () => {
  test('shows the verdicts that producers got, and no others', async () => {
    const stage = new Stage('1, 1/s')
    await stage.shaper.recent('a')
    await stage.fill('a', 2)
    stage.shaper.work(() => undefined)
    await stage.pass(990)
    await stage.shaper.enqueue('a', 1, { id: 'late' })
    await stage.pass(10)
    await stage.shaper.enqueue('a', 1)
    const { verdicts, departures } = await stage.shaper.recent('a')
    expect(verdicts.map(({ id, accepted }) => [id === '' ? '' : id.slice(0, 4), accepted])).toEqual([
      [expect.any(String), true],
      ['late', true],
      ['a2', false],
      ['a1', true],
    ])
    expect(departures).toEqual([
      { at: 1_000, id: 'late', gapMs: 1_000, gapRatio: 1 },
      { at: 0, id: 'a1' },
    ])
  })
})

test('flow grows', async () => {
  const stage = new Stage('9, 1/s')
  stage.shaper.work(() => undefined)
  await stage.fill('a', 3)
  await stage.shaper.enqueue('a', 0, { cost: 99 })
  // Asked twice by the shaper, since a job was about to depart; returned once.
  await stage.shaper.enqueue('b', 0, { deadlineMs: 1, cost: 10 })
  await stage.pass(1_000)
  expect(await stage.shaper.flow()).toEqual({ at: 1_000, admitted: 3, rejected: 2, departed: 2, ended: 2 })
})
