import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  InvalidKeyError,
  InvalidLimitError,
  InvalidOptionsError,
  NoLimitError,
  TurnRefusedError,
} from '../../../src/index.ts'
import { Stage } from '../../support/stage.ts'

/** A wide line, whose first departure is hours away from the second, and a limit of this process for all keys. */
function limited(limit: string, line = '1000, 1/h') {
  const stage = new Stage(line)
  stage.shaper.limits.setLocal('*', limit)
  const ask = (cost = 1, key = 'k') => stage.shaper.enqueue(key, 0, { cost })
  return { stage, ask, limits: stage.shaper.limits }
}

describe('a limit of this process', () => {
  test('is listed apart from the rule book, with its author and time', async () => {
    const stage = new Stage({ '*': '9, 1/s' })
    const { limits } = stage.shaper
    const book = limits.list()
    expect(limits.locals()).toEqual([])
    await stage.pass(1_234.5)
    const set = limits.setLocal('a/*', { capacity: 5, rate: '120/minute' }, { by: 'ann' })
    expect(set).toEqual({ pattern: 'a/*', limit: '5, 120/m', origin: 'local', by: 'ann', at: 1_234 })
    limits.setLocal('b', '2, 5000/s')
    limits.setLocal('a/*', '6, 1/s')
    expect(limits.locals()).toEqual([
      { pattern: 'a/*', limit: '6, 1/s', origin: 'local', at: 1_234 },
      { pattern: 'b', limit: '2, 5000/s', origin: 'local', at: 1_234 },
    ])
    expect(limits.list()).toEqual(book)
    expect(limits.resolve('a/b').pattern).toBe('*')
    expect([limits.unsetLocal('a/*'), limits.unsetLocal('a/*'), limits.unsetLocal('b')]).toEqual([
      true,
      false,
      true,
    ])
    expect(limits.locals()).toEqual([])
  })

  test.each([
    ['*', '5', undefined, InvalidLimitError, 'invalid-limit', /"5"/],
    ['*', '5, 1/s, tolerance 5ms', undefined, InvalidLimitError, 'invalid-limit', /tolerance 5ms/],
    ['*', '5, 1/s, warm-up 5s', undefined, InvalidLimitError, 'invalid-limit', /a meter starts nothing/],
    ['a*', '5, 1/s', undefined, InvalidKeyError, 'invalid-key', /stand alone/],
    ['', '5, 1/s', undefined, InvalidKeyError, 'invalid-key', /pattern/],
    ['*', '5, 1/s', { by: '' }, InvalidOptionsError, 'invalid-options', /limits\.setLocal: expected by/],
    ['*', '5, 1/s', { who: 'me' }, InvalidOptionsError, 'invalid-options', /unknown option "who"/],
  ])('refuses %j: %j, %j', async (pattern, limit, options, error, code, message) => {
    const stage = new Stage('5, 1/s')
    await stage.refuses(
      (shaper) => shaper.limits.setLocal(pattern, limit, options as never),
      error,
      code,
      message,
    )
    await stage.refuses(({ limits }) => limits.unsetLocal(''), InvalidKeyError, 'invalid-key', /pattern/)
    expect(stage.shaper.limits.locals()).toEqual([])
  })

  test('admits the capacity immediately, then no more than the rate', async () => {
    const { stage, ask } = limited('3, 2/s')
    expect(await ask(2)).toMatchObject({ accepted: true, waiting: 2, capacity: 1_000 })
    expect(await ask()).toMatchObject({ accepted: true })
    const refused = { accepted: false, reason: 'full', key: 'k', waiting: 3, capacity: 3, local: true }
    expect(await ask()).toEqual({ ...refused, retryAfterMs: 500 })
    expect(await ask(3)).toEqual({ ...refused, retryAfterMs: 1_500 })
    expect(await ask(4)).toEqual({ ...refused, reason: 'too-costly', retryAfterMs: Number.POSITIVE_INFINITY })
    await stage.pass(499)
    expect(await ask()).toEqual({ ...refused, retryAfterMs: 1 })
    await stage.pass(1)
    expect(await ask()).toMatchObject({ accepted: true })
    expect(await ask()).toMatchObject({ accepted: false })
    expect(await ask(1, 'another')).toMatchObject({ accepted: true })
    await stage.conforms({ unfinished: true })
  })

  test('takes no time and no place from the line', async () => {
    const { stage, ask } = limited('2, 1/h', '5, 10/s')
    stage.shaper.work(() => undefined)
    expect(await ask()).toMatchObject({ accepted: true, departsAt: 0 })
    expect(await ask()).toMatchObject({ accepted: true, departsAt: 100, capacity: 5 })
    expect(await ask()).toMatchObject({ accepted: false, local: true })
    await stage.pass(1_000)
    expect(stage.starts.map(([, at]) => at)).toEqual([0, 100])
    // What has departed has still been let in.
    expect(await ask()).toMatchObject({ accepted: false, local: true, waiting: 2 })
    await stage.conforms()
  })

  test('goes by the longest pattern; other keys have none', async () => {
    const stage = new Stage('99, 1/h')
    const { limits } = stage.shaper
    limits.setLocal('a/*', '1, 1/h')
    limits.setLocal('a/b', '2, 1/h')
    const admitted = async (key: string) => {
      const answers = await stage.shaper.enqueueMany(Array.from({ length: 5 }, () => ({ key, data: 0 })))
      return answers.filter(({ accepted }) => accepted).length
    }
    expect([
      await admitted('a/c/d'),
      await admitted('a/b'),
      await admitted('a'),
      await admitted('b'),
    ]).toEqual([1, 2, 5, 5])
    // What was let in counts under the next limit that governs.
    limits.unsetLocal('a/b')
    limits.setLocal('a/*', '4, 1/h')
    expect(await admitted('a/b')).toBe(2)
    limits.unsetLocal('a/*')
    expect(await admitted('a/b')).toBe(5)
    // A new limit begins with nothing.
    limits.setLocal('*', '3, 1/h')
    expect(await admitted('a/b')).toBe(3)
  })

  test('that is changed leaks by the slower of the two until it is filled again', async () => {
    const { stage, ask, limits } = limited('2, 1/s')
    await ask(2)
    limits.setLocal('*', '2, 1/m')
    await stage.pass(1_000)
    expect(await ask()).toMatchObject({ accepted: false, retryAfterMs: 59_000 })
    limits.setLocal('*', '5, 1/s')
    expect(await ask(3)).toMatchObject({ accepted: true })
  })

  test('a batch is held to it in order, and the others get their verdicts from the line', async () => {
    const { stage } = limited('3, 1/h', '4, 1/h')
    const costs = [2, 2, 1, 1]
    const answers = await stage.shaper.enqueueMany(
      costs.map((cost, n) => ({ key: 'k', data: n, id: `j${n}`, cost })),
    )
    expect(answers.map((answer) => answer.accepted || [answer.reason, answer.local])).toEqual([
      true,
      ['full', true],
      true,
      ['full', true],
    ])
    expect(answers[0]).toMatchObject({ id: 'j0', position: 1 })
    expect(answers[2]).toMatchObject({ id: 'j2', position: 2 })
    await stage.conforms({ unfinished: true })
  })

  test('what the line refuses takes nothing from it', async () => {
    const { stage, ask, limits } = limited('3, 1/h', '1, 1/h')
    await ask()
    for (let n = 0; n < 10; n++) expect(await ask()).not.toHaveProperty('local')
    expect(await stage.shaper.enqueue('k', 0, { deadlineMs: 1 })).not.toHaveProperty('local')
    await expect(stage.shaper.enqueue('k', 1, { id: 'x' })).resolves.toMatchObject({ accepted: false })
    await limits.set('*', '5, 1/h')
    expect([await ask(), await ask(), await ask()]).toMatchObject([
      { accepted: true },
      { accepted: true },
      { accepted: false, local: true },
    ])
  })

  test('the same id again takes nothing, and gets its answer even when the limit is full', async () => {
    const { stage, ask, limits } = limited('2, 1/h')
    const again = (id: string) => stage.shaper.enqueue('k', 0, { id })
    await again('a')
    for (let n = 0; n < 5; n++) expect(await again('a')).toMatchObject({ accepted: true, replayed: true })
    const batch = ['a', 'b', 'b', 'a', 'c'].map((id) => ({ key: 'k', data: 0, id }))
    expect(await stage.shaper.enqueueMany(batch)).toMatchObject([
      { id: 'a', replayed: true },
      { id: 'b', accepted: true },
      { id: 'b', replayed: true },
      { id: 'a', replayed: true },
      { accepted: false, local: true },
    ])
    expect(await again('b')).toMatchObject({ replayed: true })
    await expect(stage.shaper.enqueue('k', 'other', { id: 'b' })).rejects.toMatchObject({
      code: 'id-conflict',
    })
    await expect(
      stage.shaper.enqueueMany([
        { key: 'k', data: 0 },
        { key: 'k', data: 'other', id: 'a' },
      ]),
    ).rejects.toMatchObject({ code: 'id-conflict' })
    limits.setLocal('*', '3, 1/h')
    expect([await ask(), await ask()]).toMatchObject([{ accepted: true }, { accepted: false }])
  })

  test('a key without a limit gets NoLimitError', async () => {
    const stage = new Stage({ a: '5, 1/s' })
    stage.shaper.limits.setLocal('*', '1, 1/h')
    await expect(stage.shaper.enqueue('b', 0, { cost: 2 })).rejects.toThrow(NoLimitError)
    await expect(stage.shaper.forecast('b', 2)).rejects.toThrow(NoLimitError)
    await expect(stage.shaper.enqueue('b', 0)).rejects.toThrow(NoLimitError)
    await stage.shaper.limits.set('b', '5, 1/s')
    expect(await stage.shaper.enqueue('b', 0)).toMatchObject({ accepted: true })
  })

  test('a forecast says the same, and takes nothing', async () => {
    const { stage, ask } = limited('2, 1/h')
    for (let n = 0; n < 5; n++)
      expect(await stage.shaper.forecast('k', 2)).toMatchObject({ accepted: true, id: '' })
    expect(await stage.shaper.forecast('k', 3)).toMatchObject({ reason: 'too-costly', local: true })
    await ask(2)
    expect(await stage.shaper.forecast('k')).toEqual(await ask())
  })

  test('callers of acquire are held to it', async () => {
    const { stage } = limited('2, 1/m', '50, 10/s')
    const { shaper } = stage
    expect(await shaper.tryAcquire('k')).toMatchObject({ accepted: true })
    // That of the line comes too late, and takes nothing.
    expect(await shaper.tryAcquire('k')).toMatchObject({ accepted: false, reason: 'not-now' })
    const turn = shaper.acquire('k')
    const refused = await shaper.acquire('k').catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(TurnRefusedError)
    expect(refused).toMatchObject({
      reason: 'full',
      waiting: 2,
      capacity: 2,
      retryAfterMs: 60_000,
      local: true,
      message: expect.stringContaining('2 of 2 cost units of a local limit are taken'),
    })
    expect(await shaper.tryAcquire('k')).toMatchObject({ accepted: false, local: true, retryAfterMs: 60_000 })
    await stage.pass(100)
    expect(await turn).toMatchObject({ accepted: true, departedAt: 100 })
    await stage.conforms()
  })

  test('a refusal is emitted as any other, and the limit itself as well', async () => {
    const stage = new Stage('9, 1/h')
    const events: unknown[] = []
    stage.shaper.on('rejected', (event) => void events.push(event))
    stage.shaper.on('localLimit', ({ limit, ...event }) => void events.push([event, limit?.capacity]))
    stage.shaper.limits.setLocal('*', '1, 1/s', { by: 'ann' })
    await stage.pass(200)
    await stage.shaper.enqueueMany(['a', 'b'].map((id) => ({ key: 'k', data: 0, id })))
    stage.shaper.limits.unsetLocal('*')
    expect(events).toEqual([
      [{ pattern: '*', at: 0, by: 'ann' }, 1],
      {
        accepted: false,
        reason: 'full',
        key: 'k',
        retryAfterMs: 1_000,
        waiting: 1,
        capacity: 1,
        local: true,
        cost: 1,
        at: 200,
        id: 'b',
      },
      [{ pattern: '*', at: 200 }, undefined],
    ])
  })

  test('a listener that asks for more immediately gets no more than there is', async () => {
    const { stage, ask } = limited('2, 1/h')
    const more: boolean[] = []
    stage.shaper.on('admitted', () => void ask().then(({ accepted }) => more.push(accepted)))
    await ask()
    await stage.pass(0)
    expect(more.toSorted()).toEqual([false, true])
    expect(await stage.shaper.inspect('k')).toMatchObject({ waiting: 2 })
  })
})

test('admits what a meter with exact numbers admits', async () => {
  const steps = fc.array(
    fc.record({
      pass: fc.integer({ min: 0, max: 40 }),
      key: fc.constantFrom('a', 'b'),
      cost: fc.integer({ min: 1, max: 4 }),
      again: fc.boolean(),
    }),
    { maxLength: 60 },
  )
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 6 }), steps, async (capacity, given) => {
      // One unit leaks in 20 ms.
      const { stage } = limited(`${capacity}, 50/s`, '100000, 1/h')
      const levels = new Map<string, { ms: number; at: number }>()
      let last: { key: string; id: string; cost: number } | undefined
      for (const [n, { pass, key, cost, again }] of given.entries()) {
        await stage.pass(pass)
        if (again && last !== undefined) {
          const { key, id, cost } = last
          expect(await stage.shaper.enqueue(key, 0, { id, cost })).toMatchObject({ replayed: true })
        }
        const level = levels.get(key) ?? { ms: 0, at: 0 }
        const ms = Math.max(0, level.ms - (stage.now - level.at))
        const verdict = await stage.shaper.enqueue(key, 0, { id: `j${n}`, cost })
        if (ms + cost * 20 <= capacity * 20) {
          expect(verdict).toMatchObject({ accepted: true })
          levels.set(key, { ms: ms + cost * 20, at: stage.now })
          last = { key, id: `j${n}`, cost }
        } else if (cost > capacity) expect(verdict).toMatchObject({ reason: 'too-costly', local: true })
        else {
          const retryAfterMs = ms + (cost - capacity) * 20
          expect(verdict).toMatchObject({ reason: 'full', local: true, retryAfterMs })
          expect(verdict).toMatchObject({ waiting: Math.ceil(ms / 20), capacity })
        }
      }
    }),
    { numRuns: 100 },
  )
})
