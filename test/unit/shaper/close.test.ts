import { describe, expect, test } from 'vitest'
import { InvalidOptionsError, Shaper, ShaperClosedError } from '../../../src/index.ts'
import { neverSettles, Stage } from '../../support/stage.ts'

function settled(promise: Promise<unknown>) {
  const state = { isSettled: false }
  void promise.then(() => {
    state.isSettled = true
  })
  return state
}

describe('close', () => {
  test('cancels waiting jobs, and resolves when running handlers have settled', async () => {
    const stage = new Stage('5, 2/s')
    stage.shaper.work(() => stage.sleep(3_000))
    await stage.fill('k', 3)
    await stage.pass(600)
    const closed = settled(stage.shaper.close())
    await stage.pass(0)
    expect(stage.emitted).toEqual([['cancelled', 'k3', 600]])
    await stage.pass(2_800)
    expect(closed.isSettled).toBe(false)
    await stage.pass(200)
    expect(closed.isSettled).toBe(true)
    expect(stage.emitted.slice(1)).toEqual([
      ['completed', 'k1', 3_000],
      ['completed', 'k2', 3_500],
    ])
    await stage.conforms()
  })

  test('with drainMs lets the line drain at its rate, and resolves as soon as it is empty', async () => {
    const stage = new Stage('5, 2/s')
    stage.shaper.work(() => stage.sleep(100))
    await stage.fill('k', 4)
    const closed = settled(stage.shaper.close({ drainMs: 60_000 }))
    await stage.pass(1_590)
    expect(closed.isSettled).toBe(false)
    await stage.pass(20)
    expect(closed.isSettled).toBe(true)
    expect(stage.startsOf('k')).toEqual([0, 500, 1_000, 1_500])
    await stage.conforms()
  })

  test('with drainMs that is too short cancels the rest and stops the handlers that run', async () => {
    const stage = new Stage('5, 2/s', { jobDefaults: { attempts: 5, backoff: 1 } })
    const reasons: unknown[] = []
    stage.shaper.work(({ signal }) => {
      signal.addEventListener('abort', () => void reasons.push(signal.reason))
      return neverSettles()
    })
    await stage.fill('k', 4)
    await stage.close({ drainMs: 600 })
    expect(stage.emitted.map(([name, id]) => [name, id])).toEqual([
      ['cancelled', 'k3'],
      ['cancelled', 'k4'],
      ['failed', 'k1'],
      ['failed', 'k2'],
    ])
    expect(reasons).toHaveLength(2)
    expect(reasons[0]).toBeInstanceOf(ShaperClosedError)
    await stage.pass(60_000)
    expect(stage.starts).toHaveLength(2)
    await stage.conforms()
  })

  test('drains retries as well, and a paused bucket for as long as it may', async () => {
    const stage = new Stage('5, 2/s', { jobDefaults: { attempts: 2, backoff: 1_000 } })
    stage.shaper.work(({ attempt }) => {
      if (attempt === 1) throw new Error('as planned')
    })
    await stage.fill('k', 2)
    await stage.shaper.pause('l')
    await stage.fill('l', 1)
    const closed = settled(stage.shaper.close({ drainMs: 20_000 }))
    await stage.pass(19_999)
    expect(closed.isSettled).toBe(false)
    expect(stage.startsOf('k')).toHaveLength(4)
    await stage.pass(2)
    expect(closed.isSettled).toBe(true)
    expect(stage.emitted.at(-1)).toEqual(['cancelled', 'l1', 20_000])
    await stage.conforms()
  })

  test('a job that fails while the last handlers settle is not tried again', async () => {
    const stage = new Stage('5, 2/s', { jobDefaults: { attempts: 5, backoff: 1 } })
    stage.shaper.work(async () => {
      await stage.sleep(100)
      throw new Error('as planned')
    })
    await stage.fill('k', 1)
    await stage.pass(10)
    const closed = stage.shaper.close()
    await stage.pass(90)
    await closed
    await stage.pass(9_000)
    expect(stage.emitted.map(([name]) => name)).toEqual(['failed', 'cancelled'])
    expect(stage.starts).toHaveLength(1)
    await stage.conforms()
  })

  test('twice is once: both resolve together', async () => {
    const stage = new Stage('5, 2/s')
    stage.shaper.work(() => stage.sleep(1_000))
    await stage.fill('k', 3)
    await stage.pass(1)
    const [first, second] = [settled(stage.shaper.close()), settled(stage.shaper.close({ drainMs: 9_000 }))]
    await stage.pass(998)
    expect([first.isSettled, second.isSettled]).toEqual([false, false])
    await stage.pass(1)
    expect([first.isSettled, second.isSettled]).toEqual([true, true])
    await stage.shaper.close()
    expect(stage.emitted.filter(([name]) => name === 'cancelled')).toHaveLength(2)
    await stage.conforms()
  })

  test('at the end of a block: await using', async () => {
    const stage = new Stage('5, 2/s')
    {
      await using shaper = stage.shaper
      await shaper.enqueue('k', 0, { id: 'k1' })
    }
    expect(stage.emitted).toEqual([['cancelled', 'k1', 0]])
    await expect(stage.shaper.enqueue('k', 0)).rejects.toThrow(ShaperClosedError)
  })

  test('of a shaper that was never used', async () => {
    await new Shaper('unused', { limits: {} }).close()
    await new Shaper('unused', { limits: {} }).close({ drainMs: 1_000_000 })
  })

  test.each([
    [{ drainMs: -1 }, /drainMs/],
    [{ drainMs: Number.NaN }, /drainMs/],
    [{ drainMs: Number.POSITIVE_INFINITY }, /drainMs/],
    [{ drainMs: '10' }, /drainMs/],
    [{ drainMS: 10 }, /mean drainMs/],
    [null, /options/],
  ])('rejects %j, and stays open', async (options, message) => {
    const stage = new Stage('5, 2/s')
    await stage.fill('k', 1)
    await stage.refuses(
      (shaper) => shaper.close(options as never),
      InvalidOptionsError,
      'invalid-options',
      message,
    )
    // As a promise does, not by a throw that a `.catch` would miss.
    await stage.shaper.close(options as never).catch(() => undefined)
    expect(await stage.fill('k', 2)).toMatchObject([{ replayed: true }, { accepted: true }])
  })
})

describe('close from within', () => {
  test('a handler that does not wait for it: its own job completes', async () => {
    const stage = new Stage('5, 2/s')
    let closed = settled(Promise.resolve())
    stage.shaper.work(async () => {
      closed = settled(stage.shaper.close())
      await stage.sleep(100)
    })
    await stage.fill('k', 3)
    await stage.pass(90)
    expect(closed.isSettled).toBe(false)
    await stage.pass(20)
    expect(closed.isSettled).toBe(true)
    expect(stage.emitted.map(([name, id]) => `${name} ${id}`).sort()).toEqual([
      'cancelled k2',
      'cancelled k3',
      'completed k1',
    ])
    await stage.conforms()
  })

  test('a handler that waits for it is stopped when the drain is over', async () => {
    const stage = new Stage('5, 2/s')
    const steps: string[] = []
    stage.shaper.work(async ({ signal }) => {
      await stage.shaper.close({ drainMs: 1_000 })
      steps.push(`closed, ${signal.aborted ? 'aborted' : 'not aborted'}`)
    })
    await stage.fill('k', 1)
    await stage.pass(2_000)
    expect(steps).toEqual(['closed, aborted'])
    expect(stage.emitted).toEqual([['failed', 'k1', 1_000]])
    await stage.conforms()
  })

  test('in a pass over many buckets, no job departs after the handler that closed', async () => {
    const stage = new Stage('5, 2/s')
    for (const key of 'abcdef') await stage.fill(key, 2)
    stage.shaper.work(() => void stage.shaper.close())
    await stage.pass(9_000)
    expect(stage.starts).toHaveLength(1)
    expect(await stage.shaper.audit()).toMatchObject({ admitted: 12, ended: 12 })
    await stage.conforms()
  })

  test.each(['admitted', 'departed', 'cancelled', 'completed', 'frozen', 'limit'] as const)(
    'a listener of %s: every job is reported in order, and once',
    async (name) => {
      const stage = new Stage('5, 2/s')
      let handlers = 0
      const closings: Promise<unknown>[] = []
      stage.shaper.on(name, () => {
        closings.push(stage.shaper.close().then(() => handlers))
      })
      stage.shaper.work(async () => {
        handlers++
        await stage.sleep(100)
        handlers--
      })
      await stage.fill('k', 4)
      await stage.pass(10)
      await stage.shaper.cancel('k4')
      await stage.shaper.freeze('k', 50)
      await stage.shaper.limits.set('k', '9, 9/s')
      await stage.pass(9_000)
      const running = await Promise.all(closings)
      expect([...new Set(running)]).toEqual([0])
      const ids = stage.emitted.map(([, id]) => id)
      expect(ids.sort()).toEqual(['k1', 'k2', 'k3', 'k4'])
      await stage.conforms()
    },
  )

  test('a listener of cancelled that cancels another job', async () => {
    const stage = new Stage('5, 2/s')
    stage.shaper.on('cancelled', ({ id }) => {
      if (id === 'k1') void stage.shaper.cancel('k3')
    })
    await stage.fill('k', 3)
    await stage.shaper.close()
    expect(stage.emitted.map(([, id]) => id).sort()).toEqual(['k1', 'k2', 'k3'])
    await stage.conforms()
  })

  test('a listener of cancelled that enqueues finds the shaper closed', async () => {
    const stage = new Stage('5, 2/s')
    const answers: Promise<unknown>[] = []
    stage.shaper.on('cancelled', () => {
      answers.push(stage.shaper.enqueue('k', 0).catch((error: unknown) => error))
    })
    await stage.fill('k', 2)
    await stage.shaper.close()
    const errors = await Promise.all(answers)
    expect(errors).toHaveLength(2)
    expect(errors.every((error) => error instanceof ShaperClosedError)).toBe(true)
    await stage.conforms()
  })
})

describe('after the close', () => {
  async function closed(): Promise<Stage> {
    const stage = new Stage('5, 2/s')
    stage.shaper.work(() => 'done')
    await stage.fill('k', 2)
    await stage.pass(1)
    await stage.shaper.close()
    return stage
  }

  test('nothing is accepted any more, and no worker', async () => {
    const stage = await closed()
    const calls = [
      () => stage.shaper.enqueue('k', 0),
      () => stage.shaper.enqueueMany([{ key: 'k', data: 0 }]),
      () => stage.shaper.enqueueMany([]),
      () => stage.shaper.forecast('k'),
      () => stage.shaper.work(() => undefined),
    ]
    for (const call of calls) await stage.refuses(call, ShaperClosedError, 'closed', /"stage" is closed/)
  })

  test('what is known can still be asked for', async () => {
    const { shaper } = await closed()
    expect(await shaper.job('k1')).toMatchObject({ state: 'completed', result: 'done' })
    expect(await shaper.job('k2')).toMatchObject({ state: 'cancelled' })
    expect(await shaper.audit()).toMatchObject({ admitted: 2, ended: 2 })
    expect(await shaper.inspect('k')).toMatchObject({ state: 'idle', jobs: 0 })
    expect((await shaper.buckets()).total).toBe(1)
    expect(shaper.limits.list()).toHaveLength(1)
    expect(await shaper.cancel('k1')).toBe(false)
    await shaper.ready()
  })

  test('verbs that change something do no harm', async () => {
    const stage = await closed()
    await stage.shaper.freeze('k', 1_000)
    await stage.shaper.pause('k')
    await stage.shaper.resume('k')
    await stage.shaper.limits.set('k', '1, 1/s')
    await stage.shaper.limits.unset('k')
    await stage.pass(60_000)
    expect(stage.starts).toHaveLength(1)
    await stage.conforms()
  })
})

test('a drain ends when the last job that waits expires', async () => {
  const stage = new Stage('5, 1/s')
  await stage.shaper.enqueue('k', 0, { deadlineMs: 100 })
  let closedAt: number | undefined
  const closed = stage.shaper.close({ drainMs: 3_000 }).then(() => {
    closedAt = stage.now
  })
  await stage.pass(200)
  await closed
  expect(closedAt).toBeLessThan(110)
})
