import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import type { AcquireOptions, Turn } from '../../../src/index.ts'
import { TurnCancelledError, TurnRefusedError, TurnTimeoutError } from '../../../src/index.ts'
import { Stage } from '../../support/stage.ts'

/** Callers that note when their turns come, and what comes instead. */
class Callers {
  readonly came: [name: string, ms: number][] = []
  readonly refused: [name: string, code: unknown][] = []
  readonly #stage: Stage

  constructor(stage: Stage) {
    this.#stage = stage
  }

  async call(name: string, options?: AcquireOptions, key = 'k'): Promise<void> {
    try {
      await this.#stage.shaper.acquire(key, options)
      this.came.push([name, this.#stage.now])
    } catch (error) {
      this.refused.push([name, (error as { code?: unknown }).code ?? (error as Error).message])
    }
  }
}

function open(limits: ConstructorParameters<typeof Stage>[0] = '9, 1/s') {
  const stage = new Stage(limits)
  return { stage, shaper: stage.shaper, callers: new Callers(stage) }
}

describe('acquire', () => {
  it('callers depart one per interval, in the order in which they came, without a worker', async () => {
    const { stage, callers } = open()
    for (const name of ['a', 'b', 'c']) void callers.call(name)
    await stage.pass(5_000)
    expect(callers.came).toEqual([
      ['a', 0],
      ['b', 1_000],
      ['c', 2_000],
    ])
    await stage.conforms()
  })

  it('stands in one line with the jobs of its key, and keeps their capacity, cost and order', async () => {
    const { stage, shaper, callers } = open('5, 1/s')
    shaper.work(() => undefined)
    await shaper.enqueue('k', 1, { id: 'first' })
    await stage.pass(0)
    void callers.call('a', { cost: 2 })
    await shaper.enqueue('k', 1, { id: 'second', cost: 2 })
    void callers.call('b')
    void callers.call('too many')
    expect(await shaper.enqueue('k', 1)).toMatchObject({ accepted: false, reason: 'full', waiting: 5 })
    await stage.pass(9_000)
    expect(stage.starts.map(([, ms]) => ms)).toEqual([0, 1_000, 3_000, 5_000])
    expect(stage.starts.filter(([id]) => id.length < 9).map(([id]) => id)).toEqual(['first', 'second'])
    expect(callers.came).toEqual([
      ['a', 1_000],
      ['b', 5_000],
    ])
    expect(callers.refused).toEqual([['too many', 'turn-refused']])
    await stage.conforms()
  })

  it('resolves to the turn: its key, when it departed, how long it waited, and a fence that grows', async () => {
    const { stage, shaper } = open()
    const turns: Turn[] = []
    for (let n = 0; n < 2; n++) void shaper.acquire('k').then((turn) => turns.push(turn))
    await stage.pass(1_000)
    expect(turns).toEqual([
      { accepted: true, key: 'k', cost: 1, departedAt: 0, waitedMs: 0, fence: 1 },
      { accepted: true, key: 'k', cost: 1, departedAt: 1_000, waitedMs: 1_000, fence: 2 },
    ])
  })

  it('is refused immediately when the line is full, with the time to retry', async () => {
    const { stage, shaper, callers } = open('1, 1/s')
    void callers.call('a')
    await stage.pass(0)
    void callers.call('b')
    const refused = await shaper.acquire('k').catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(TurnRefusedError)
    expect(refused).toMatchObject({ key: 'k', reason: 'full', waiting: 1, capacity: 1, retryAfterMs: 1_000 })
    expect((refused as Error).message).toBe(
      'no turn for the key "k" (full): 1 of 1 cost units wait, retry after 1000 ms',
    )
    await stage.pass(1_000)
    void callers.call('again')
    await stage.pass(1_000)
    expect(callers.came.map(([name]) => name)).toEqual(['a', 'b', 'again'])
  })

  it('is refused immediately when the turn cannot come before the timeout', async () => {
    const { stage, shaper, callers } = open()
    await stage.fill('k', 3)
    shaper.work(() => undefined)
    await stage.pass(0)
    void callers.call('late', { timeoutMs: 2_999 })
    void callers.call('in time', { timeoutMs: 3_000 })
    await stage.pass(0)
    expect(callers.refused).toEqual([['late', 'turn-refused']])
    await stage.pass(3_000)
    expect(callers.came).toEqual([['in time', 3_000]])
    await stage.conforms()
  })

  it('times out when what was promised is frozen meanwhile, and gives the place back', async () => {
    const { stage, shaper, callers } = open()
    void callers.call('first')
    const timed = shaper.acquire('k', { timeoutMs: 1_500 }).catch((error: unknown) => error)
    void callers.call('last')
    await stage.pass(0)
    await shaper.freeze('k', 4_000)
    await stage.pass(6_000)
    const error = await timed
    expect(error).toBeInstanceOf(TurnTimeoutError)
    expect(error).toMatchObject({ code: 'turn-timeout', key: 'k', timeoutMs: 1_500 })
    expect(callers.came).toEqual([
      ['first', 0],
      ['last', 4_000],
    ])
    await stage.conforms()
  })

  it('gives the place back when it is aborted, and the turns behind move up', async () => {
    const { stage, shaper, callers } = open()
    const abort = new AbortController()
    void callers.call('a')
    void callers.call('b', { signal: abort.signal })
    void callers.call('c')
    await stage.pass(500)
    abort.abort(new Error('enough'))
    await stage.pass(500)
    expect(callers.refused).toEqual([['b', 'enough']])
    expect(callers.came.at(-1)).toEqual(['c', 1_000])
    expect(await shaper.inspect('k')).toMatchObject({ waiting: 0 })
    await stage.conforms()
  })

  it('an aborted signal is refused before anything happens, and one aborted too late changes nothing', async () => {
    const { stage, shaper, callers } = open()
    await expect(shaper.acquire('k', { signal: AbortSignal.abort(new Error('never')) })).rejects.toThrow(
      'never',
    )
    expect(await shaper.audit()).toMatchObject({ admitted: 0 })
    const abort = new AbortController()
    void callers.call('a', { signal: abort.signal })
    await stage.pass(0)
    abort.abort()
    await stage.pass(1_000)
    expect([callers.came, callers.refused]).toEqual([[['a', 0]], []])
  })

  it('a signal that a listener of the admission aborts gives the place back', async () => {
    const { stage, shaper, callers } = open()
    const abort = new AbortController()
    shaper.on('admitted', () => abort.abort(new Error('changed my mind')))
    await callers.call('a', { signal: abort.signal })
    expect(callers.refused).toEqual([['a', 'changed my mind']])
    await stage.pass(1)
    expect(await shaper.inspect('k')).toBeUndefined()
  })

  it('adds one listener to a signal, and aborts every turn under it', async () => {
    const { stage, shaper, callers } = open('99, 1/s')
    const abort = new AbortController()
    void callers.call('before')
    for (let n = 0; n < 50; n++) void callers.call(`${n}`, { signal: abort.signal })
    void callers.call('behind')
    await stage.pass(2_000)
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(1)
    abort.abort(new Error('enough'))
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(0)
    await stage.pass(1_000)
    expect(callers.refused).toHaveLength(48)
    expect(callers.came.map(([name]) => name)).toEqual(['before', '0', '1', 'behind'])
    expect(await shaper.inspect('k')).toMatchObject({ waiting: 0 })
    await stage.conforms()
  })

  it('hears a signal that a request was made with, too', async () => {
    const { stage, callers } = open()
    const abort = new AbortController()
    void callers.call('a')
    void callers.call('b', { signal: abort.signal })
    void new Request('http://127.0.0.1', { signal: abort.signal })
    await stage.pass(500)
    abort.abort(new Error('enough'))
    await stage.pass(0)
    expect(callers.refused).toEqual([['b', 'enough']])
  })

  it('is cancelled like a job, by the id in its events', async () => {
    const { stage, shaper, callers } = open()
    const ids: string[] = []
    shaper.on('admitted', ({ id }) => void ids.push(id))
    void callers.call('a')
    const waiting = shaper.acquire('k').catch((error: unknown) => error)
    await stage.pass(0)
    expect(await shaper.job(ids[1]!)).toMatchObject({ state: 'waiting', data: null, position: 1 })
    expect(await shaper.cancel(ids[1]!)).toBe(true)
    expect(await waiting).toBeInstanceOf(TurnCancelledError)
    expect(await waiting).toMatchObject({ code: 'turn-cancelled', id: ids[1] })
    await stage.conforms()
  })

  it('waits behind jobs without a worker, but turns of other keys do not', async () => {
    const { stage, shaper, callers } = open()
    await stage.fill('jobs', 1)
    void callers.call('behind', {}, 'jobs')
    void callers.call('free', {}, 'turns')
    void callers.call('free too', {}, 'turns')
    await stage.pass(3_000)
    expect(callers.came).toEqual([
      ['free', 0],
      ['free too', 1_000],
    ])
    shaper.work(() => undefined)
    await stage.pass(1_000)
    expect(callers.came.at(-1)).toEqual(['behind', 4_000])
    await stage.conforms()
  })

  it('turns depart while every handler is busy', async () => {
    const { stage, shaper, callers } = open('9, 1/s')
    let finish: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      finish = resolve
    })
    const worker = shaper.work(() => held, { concurrency: 1 })
    await shaper.enqueue('busy', 1)
    await stage.pass(0)
    expect(worker.running).toBe(1)
    void callers.call('a')
    await stage.pass(0)
    expect(callers.came).toEqual([['a', 0]])
    finish()
    await stage.pass(0)
  })

  it('the head that is taken out leaves its slot to a turn, which needs no handler', async () => {
    const { stage, shaper, callers } = open()
    await stage.fill('k', 1)
    void callers.call('a')
    await stage.pass(500)
    expect(callers.came).toEqual([])
    await shaper.cancel('k1')
    await stage.pass(1)
    expect(callers.came).toEqual([['a', 500]])
    await stage.conforms()
  })

  it('a retry that became ready while no handler was free keeps the turn behind it waiting', async () => {
    const { stage, shaper, callers } = open({ k: '9, 1/s', busy: '9, 1/s' })
    let failures = 0
    const worker = shaper.work(
      () => {
        if (failures++ === 0) throw new Error('once')
      },
      { concurrency: 1 },
    )
    await shaper.enqueue('k', 1, { id: 'again', attempts: 2, backoff: 1_500 })
    await stage.pass(0)
    await worker.close()
    void callers.call('a')
    void callers.call('b')
    void callers.call('c')
    await stage.pass(9_000)
    // One turn had the slot before the retry was ready.
    expect(callers.came).toEqual([['a', 1_000]])
    shaper.work(() => undefined)
    await stage.pass(2_000)
    expect(callers.came.map(([name]) => name)).toEqual(['a', 'b', 'c'])
    await stage.conforms()
  })

  it('leaves no trace when it has come: no job to ask for, no bucket, and nothing that keeps the process', async () => {
    const { stage, shaper, callers } = open()
    shaper.work(() => undefined)
    await stage.fill('k', 1)
    const ids: string[] = []
    shaper.on('admitted', ({ id }) => void ids.push(id))
    void callers.call('a')
    await stage.pass(5_000)
    expect(await shaper.job(ids[0]!)).toBeUndefined()
    expect(await shaper.job('k1')).toMatchObject({ state: 'completed' })
    expect(await shaper.inspect('k')).toBeUndefined()
    expect(await shaper.audit()).toMatchObject({ admitted: 2, ended: 2 })
  })

  it('close rejects waiting turns, and with drainMs lets them depart first', async () => {
    const { stage, shaper, callers } = open()
    void callers.call('a')
    void callers.call('b')
    void callers.call('c')
    await stage.pass(0)
    await stage.close({ drainMs: 1_000 })
    expect(callers.came.map(([name]) => name)).toEqual(['a', 'b'])
    expect(callers.refused).toEqual([['c', 'closed']])
    await expect(shaper.acquire('k')).rejects.toThrow('closed')
    await stage.conforms()
  })

  it.each([
    [{ cost: 0 }, 'acquire: expected cost to be a number, at least 1, got: 0'],
    [{ timeoutMs: -1 }, 'acquire: expected timeoutMs to be a number, more than 0, got: -1'],
    [{ signal: 'x' }, 'acquire: expected signal to be an AbortSignal, got: "x"'],
    [{ timeout: 5 }, 'acquire: unknown option "timeout": did you mean timeoutMs?'],
  ])('refuses %o', async (options, message) => {
    const { shaper } = open()
    await expect(shaper.acquire('k', options as AcquireOptions)).rejects.toThrow(message)
    await expect(shaper.acquire('')).rejects.toThrow('expected the key to be 1 to 256 bytes')
  })

  it('refuses a key that no limit governs, and a cost that never fits', async () => {
    const { shaper } = open({ k: '2, 1/s' })
    await expect(shaper.acquire('other')).rejects.toThrow('no limit applies')
    await expect(shaper.acquire('k', { cost: 3 })).rejects.toMatchObject({ reason: 'too-costly' })
  })
})
