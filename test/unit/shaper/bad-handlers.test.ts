import { describe, expect, test, vi } from 'vitest'
import { type Clock, FreezeError, NotAnErrorError, Shaper } from '../../../src/index.ts'
import { checkHistory, recordHistory, VirtualClock } from '../../../src/testing.ts'
import { neverSettles, Stage } from '../../support/stage.ts'

const odd: [string, unknown][] = [
  ['a string', 'oops'],
  ['undefined', undefined],
  ['null', null],
  ['an object', { code: 42 }],
  ['an object without a prototype', Object.create(null)],
  ['a number', 7],
  ['a symbol', Symbol('s')],
]

describe('a handler that', () => {
  test.each(odd)('throws or rejects with %s has failed, and the thrown thing is kept', async (_, thrown) => {
    const stage = new Stage('5, 2/s')
    const errors: Error[] = []
    stage.shaper.on('failed', ({ error }) => void errors.push(error))
    stage.shaper.work((job) => {
      if (job.id === 'k1') throw thrown
      return Promise.reject(thrown)
    })
    await stage.fill('k', 2)
    await stage.pass(2_000)
    expect(errors).toHaveLength(2)
    for (const error of errors) {
      expect(error).toBeInstanceOf(NotAnErrorError)
      expect(error).toMatchObject({
        code: 'not-an-error',
        message: expect.stringContaining('the handler threw'),
      })
      expect((error as NotAnErrorError).thrown).toBe(thrown)
    }
    await stage.conforms()
  })

  test('returns a thenable that never settles is stopped by its timeout', async () => {
    const stage = new Stage('5, 2/s', { jobDefaults: { timeoutMs: 100 } })
    stage.shaper.work(() => thenable(() => undefined))
    await stage.fill('k', 2)
    await stage.pass(2_000)
    expect(stage.emitted).toEqual([
      ['failed', 'k1', 100],
      ['failed', 'k2', 600],
    ])
    await stage.conforms()
  })

  test('returns a thenable that settles twice, synchronously, or throws, settles once', async () => {
    const stage = new Stage('5, 2/s')
    const answers = [
      thenable((resolve, reject) => {
        resolve('first')
        reject(new Error('second'))
      }),
      thenable((_, reject) => {
        reject(new Error('first'))
        throw new Error('second')
      }),
      thenable(() => neverMind()),
      Object.defineProperty({}, 'then', { get: neverMind }),
    ]
    stage.shaper.work((job) => answers[job.data as number])
    await stage.fill('k', 4)
    await stage.pass(5_000)
    expect(stage.emitted.map(([name]) => name)).toEqual(['completed', 'failed', 'failed', 'failed'])
    await stage.conforms()
  })

  test('changes its data changes only its own copy', async () => {
    const stage = new Stage('5, 2/s', { jobDefaults: { attempts: 2, backoff: 1 } })
    const seen: unknown[] = []
    stage.shaper.work((job) => {
      const data = job.data as { list: number[] }
      seen.push([...data.list])
      data.list.push(9)
      throw new Error('as planned')
    })
    await stage.shaper.enqueue('k', { list: [1] })
    await stage.pass(2_000)
    expect(seen).toEqual([[1], [1]])
  })

  test('never settles blocks nothing else', async () => {
    const stage = new Stage('5, 2/s')
    stage.shaper.work((job) => (job.id === 'k1' ? neverSettles() : undefined))
    await stage.fill('k', 4)
    await stage.pass(5_000)
    expect(stage.startsOf('k')).toEqual([0, 500, 1_000, 1_500])
    await stage.close({ drainMs: 0 })
    await stage.conforms()
  })
})

describe('a handler that calls', () => {
  test('enqueue on its own full line gets a verdict, and its successor a place', async () => {
    const stage = new Stage('2, 2/s')
    const verdicts: boolean[] = []
    stage.shaper.work(async (job) => {
      if (job.id.length > 2) return
      for (const id of ['one', 'two']) {
        verdicts.push((await stage.shaper.enqueue('k', 0, { id: `${job.id}${id}` })).accepted)
      }
    })
    await stage.fill('k', 2)
    await stage.pass(9_000)
    expect(verdicts).toEqual([true, false, true, false])
    expect(stage.starts.map(([id]) => id)).toEqual(['k1', 'k2', 'k1one', 'k2one'])
    await stage.conforms()
  })

  test('enqueue for ever keeps the rate for ever', async () => {
    const stage = new Stage({ '*': '2, 10/s', busy: '2, 900/s' })
    stage.shaper.work((job) => void stage.shaper.enqueue(job.key, 0))
    await stage.shaper.enqueue('k', 0, { id: 'k' })
    await stage.shaper.enqueue('busy', 0)
    await stage.pass(10_050)
    await stage.shaper.close()
    const slots = stage.starts.filter(([id]) => id === 'k').length
    expect(slots).toBe(1)
    expect((await stage.shaper.audit()).admitted).toBeGreaterThan(9_000)
    await stage.conforms({ minUtilisation: 0.999 })
  })

  test('cancel of itself returns false; of jobs behind it, true', async () => {
    const stage = new Stage('5, 2/s')
    const answers: boolean[] = []
    stage.shaper.work(async (job) => {
      answers.push(await stage.shaper.cancel(job.id), await stage.shaper.cancel('k2'))
    })
    await stage.fill('k', 3)
    await stage.pass(5_000)
    expect(answers).toEqual([false, true, false, false])
    expect(stage.starts.map(([id]) => id)).toEqual(['k1', 'k3'])
    await stage.conforms()
  })

  test('freeze, pause or another limit stops its own line immediately', async () => {
    const stage = new Stage({ '*': '5, 2/s', b: '5, 2/s' })
    stage.shaper.work(async (job) => {
      if (job.id === 'a1') await stage.shaper.freeze('a', 3_000)
      if (job.id === 'b1') await stage.shaper.limits.set('b', '5, 0.5/s')
      if (job.id === 'c1') await stage.shaper.pause('c')
      if (job.id === 'b2') await stage.shaper.resume('c')
    })
    for (const key of 'abc') await stage.fill(key, 2)
    await stage.pass(9_000)
    expect(stage.startsOf('a')).toEqual([0, 3_000])
    expect(stage.startsOf('b')).toEqual([0, 2_000])
    expect(stage.startsOf('c')).toEqual([0, 2_000])
    await stage.conforms()
  })

  test('freeze and then throws a shorter FreezeError keeps the longer freeze', async () => {
    const stage = new Stage('5, 2/s')
    stage.shaper.work(async (job) => {
      if (job.fence > 1) return
      await stage.shaper.freeze('k', 5_000)
      throw new FreezeError({ forMs: 1_000 })
    })
    await stage.fill('k', 2)
    await stage.pass(9_000)
    expect(stage.starts).toEqual([
      ['k1', 0],
      ['k1', 5_000],
      ['k2', 5_500],
    ])
    await stage.conforms()
  })
})

describe('time that is spent between the gate and the handler', () => {
  /** A clock that goes on while code runs: `burn` is a blocked event loop. */
  function burning() {
    const clock = new VirtualClock()
    let burnt = 0
    const time: Clock = { now: () => clock.now() + burnt, wake: (at, wake) => clock.wake(at - burnt, wake) }
    return {
      clock,
      time,
      burn: (ms: number) => {
        burnt += ms * 1_000
      },
    }
  }

  test.each(['reading a huge payload', 'a slow listener of departed', 'a slow handler'])(
    '%s puts no two starts closer together',
    async (what) => {
      const { clock, time, burn } = burning()
      const shaper = new Shaper('burning', { limits: { '*': '20, 20/s' }, clock: time })
      const recording = recordHistory(shaper)
      const starts: number[] = []
      let turn = 0
      const burnEveryOther = () => {
        if (turn++ % 2 === 0) burn(80)
      }
      if (what === 'a slow listener of departed') shaper.on('departed', burnEveryOther)
      shaper.work(() => {
        starts.push(time.now() / 1_000)
        if (what === 'a slow handler') burnEveryOther()
      })
      for (let n = 0; n < 8; n++) await shaper.enqueue('k', n)
      const parse = JSON.parse
      const spy = vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) => {
        if (what === 'reading a huge payload') burnEveryOther()
        return parse(text, reviver)
      })
      await clock.advance(2_000_000)
      spy.mockRestore()
      expect(starts).toHaveLength(8)
      for (const [index, start] of starts.slice(1).entries()) {
        expect(start - starts[index]!).toBeGreaterThanOrEqual(45)
      }
      expect(checkHistory(recording.history)).toEqual([])
    },
  )
})

function neverMind(): never {
  throw new Error('as planned')
}

type Then = (resolve: (value: unknown) => void, reject: (reason: unknown) => void) => void

/** Something that is no promise, but has the look of one. */
function thenable(callback: Then): Promise<unknown> {
  return Object.defineProperty({}, 'then', { value: callback }) as Promise<unknown>
}

describe('an error that cannot be read', () => {
  const revoked = () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  }
  const unreadable = () =>
    Object.defineProperty(new Error('x'), 'message', {
      get() {
        throw new Error('no')
      },
    })

  test.each([
    ['a message that throws', unreadable],
    ['a revoked proxy', revoked],
  ])('%s fails its attempts, now or later, and does no other harm', async (_, make) => {
    const stage = new Stage('9, 10/s', { jobDefaults: { attempts: 2, backoff: 10 } })
    let completed = 0
    stage.shaper.on('completed', () => void completed++)
    stage.shaper.work(({ data }) => {
      if (data === 'now') throw make()
      return data === 'later' ? Promise.resolve().then(() => Promise.reject(make())) : 1
    })
    for (const data of ['now', 'fine', 'later', 'fine']) await stage.shaper.enqueue('k', data)
    await stage.pass(5_000)
    expect(completed).toBe(2)
    expect(await stage.shaper.audit()).toMatchObject({ admitted: 4, running: 0, ended: 4 })
    await stage.close()
  })
})
