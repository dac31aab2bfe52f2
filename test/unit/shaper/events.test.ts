import { describe, expect, test, vi } from 'vitest'
import type { ShaperEvents } from '../../../src/index.ts'
import { FreezeError } from '../../../src/index.ts'
import { Stage } from '../../support/stage.ts'

const NAMES = [
  'admitted',
  'rejected',
  'departed',
  'completed',
  'failed',
  'returned',
  'expired',
  'cancelled',
  'frozen',
  'unfrozen',
  'paused',
  'resumed',
  'limit',
] as const satisfies (keyof ShaperEvents)[]

function listen(stage: Stage): [name: string, event: unknown][] {
  const heard: [string, unknown][] = []
  for (const name of NAMES) stage.shaper.on(name, (event: unknown) => void heard.push([name, event]))
  return heard
}

describe('events', () => {
  test('report the whole life of a job, with its numbers', async () => {
    const stage = new Stage('5, 2/s', { jobDefaults: { attempts: 2, backoff: 700 } })
    stage.shaper.work(({ attempt }) => {
      if (attempt === 1) throw new Error('as planned')
      return 'done'
    })
    await stage.pass(100)
    const heard = listen(stage)
    await stage.shaper.enqueue('k', 0, { id: 'x', cost: 2 })
    await stage.pass(5_000)
    const job = { id: 'x', key: 'k', cost: 2 }
    expect(heard).toEqual([
      [
        'admitted',
        { accepted: true, ...job, position: 1, departsAt: 100, waitMs: 0, waiting: 2, capacity: 5, at: 100 },
      ],
      ['departed', { ...job, attempt: 1, at: 100, waitedMs: 0, fence: 1 }],
      ['failed', { ...job, attempt: 1, at: 100, error: new Error('as planned'), retryAt: 800 }],
      ['departed', { ...job, attempt: 2, at: 1_100, waitedMs: 1_000, fence: 2 }],
      ['completed', { ...job, attempt: 2, at: 1_100, result: 'done' }],
    ])
  })

  test('report refusals, with the id if there was one', async () => {
    const stage = new Stage('1, 2/s')
    await stage.fill('k', 1)
    const heard = listen(stage)
    await stage.shaper.enqueue('k', 0)
    await stage.shaper.enqueue('k', 0, { id: 'x', cost: 2 })
    const refused = { accepted: false, key: 'k', waiting: 1, capacity: 1, at: 0 }
    expect(heard).toEqual([
      ['rejected', { ...refused, reason: 'full', retryAfterMs: 500, cost: 1 }],
      [
        'rejected',
        { ...refused, reason: 'too-costly', retryAfterMs: Number.POSITIVE_INFINITY, cost: 2, id: 'x' },
      ],
    ])
  })

  test('report the last failure without a time to try again', async () => {
    const stage = new Stage('1, 2/s')
    stage.shaper.work(() => Promise.reject(new Error('as planned')))
    await stage.fill('k', 1)
    const heard = listen(stage)
    await stage.pass(1)
    expect(heard[1]).toEqual([
      'failed',
      { id: 'k1', key: 'k', cost: 1, attempt: 1, at: 0, error: new Error('as planned') },
    ])
  })

  test('report freezes, pauses, and what they do to jobs', async () => {
    const stage = new Stage('5, 2/s')
    stage.shaper.work(() => {
      throw new FreezeError({ forMs: 1_000 })
    })
    await stage.fill('k', 1)
    const heard = listen(stage)
    await stage.pass(10)
    await stage.shaper.freeze('k', 4_000)
    await stage.shaper.unfreeze('k')
    await stage.shaper.unfreeze('k')
    await stage.shaper.pause('k')
    await stage.shaper.resume('k')
    await stage.shaper.cancel('k1')
    const job = { id: 'k1', key: 'k', cost: 1 }
    expect(heard).toEqual([
      ['departed', { ...job, attempt: 1, at: 0, waitedMs: 0, fence: 1 }],
      ['frozen', { key: 'k', at: 0, until: 1_000 }],
      ['returned', { ...job, attempt: 1, at: 0, retryAt: 1_000 }],
      ['frozen', { key: 'k', at: 10, until: 4_010 }],
      ['unfrozen', { key: 'k', at: 10 }],
      ['paused', { key: 'k', at: 10 }],
      ['resumed', { key: 'k', at: 10 }],
      ['cancelled', { ...job, attempt: 0, at: 10 }],
    ])
  })

  test('report deadlines and changes of the rule book', async () => {
    const stage = new Stage('5, 2/s')
    await stage.shaper.enqueue('k', 0, { id: 'x', deadlineMs: 100 })
    const heard = listen(stage)
    await stage.pass(200)
    const { pattern } = await stage.shaper.limits.set('k', '5, 1/s')
    await stage.shaper.limits.unset('k')
    await stage.shaper.limits.unset('k')
    expect(heard).toMatchObject([
      ['expired', { id: 'x', key: 'k', cost: 1, attempt: 0, at: 105.001 }],
      ['limit', { pattern, at: 200, limit: { capacity: 5, interval: 1_000_000 } }],
      ['limit', { pattern, at: 200, limit: undefined }],
    ])
  })

  test('say nothing of an id that comes again', async () => {
    const stage = new Stage('5, 2/s')
    await stage.shaper.enqueue('k', 0, { id: 'x' })
    const heard = listen(stage)
    await stage.shaper.enqueue('k', 0, { id: 'x' })
    expect(heard).toEqual([])
  })

  test('are heard until they are taken off', async () => {
    const stage = new Stage('5, 2/s')
    const heard: string[] = []
    const listener = ({ id }: { id: string }) => void heard.push(id)
    expect(stage.shaper.on('admitted', listener)).toBe(stage.shaper)
    await stage.fill('k', 1)
    expect(stage.shaper.off('admitted', listener)).toBe(stage.shaper)
    await stage.fill('l', 1)
    expect(heard).toEqual(['k1'])
  })
})

describe('a listener that throws', () => {
  test.each([
    ['an error', new Error('careless')],
    ['a string', 'careless'],
    ['undefined', undefined],
    ['an object without a prototype', Object.create(null)],
  ])('%s: does no harm, and the error is reported', async (_, thrown) => {
    const stage = new Stage('5, 2/s', { jobDefaults: { attempts: 2, backoff: 1 } })
    const errors: unknown[] = []
    stage.shaper.on('error', (error) => void errors.push(error))
    for (const name of NAMES) {
      stage.shaper.on(name, () => {
        throw thrown
      })
    }
    stage.shaper.work((job) => {
      if (job.attempt === 1) throw new Error('as planned')
    })
    await stage.fill('k', 3)
    await stage.shaper.enqueue('k', 0, { id: 'k4', deadlineMs: 1_600 })
    await stage.pass(20)
    await stage.shaper.cancel('k3')
    await stage.shaper.freeze('k', 2_000)
    await stage.pass(9_000)
    expect(await stage.shaper.audit()).toEqual({
      admitted: 4,
      waiting: 0,
      handed: 0,
      running: 0,
      retrying: 0,
      ended: 4,
    })
    expect(errors.length).toBeGreaterThan(10)
    expect(errors.every((error) => error instanceof Error)).toBe(true)
    await stage.conforms()
  })

  test('does not keep the event from the other listeners', async () => {
    const stage = new Stage('5, 2/s')
    const heard: string[] = []
    stage.shaper.on('error', () => undefined)
    stage.shaper.on('admitted', () => {
      throw new Error('careless')
    })
    stage.shaper.on('admitted', ({ id }) => void heard.push(id))
    await stage.fill('k', 1)
    expect(heard).toEqual(['k1'])
  })

  test.each(['there is no listener for errors', 'the listener for errors throws as well'])(
    'becomes a warning of the process when %s',
    async (what) => {
      const stage = new Stage('5, 2/s')
      const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
      const throwIt = () => {
        throw new Error('careless')
      }
      if (what !== 'there is no listener for errors') stage.shaper.on('error', throwIt)
      stage.shaper.on('admitted', throwIt)
      expect(await stage.fill('k', 1)).toMatchObject([{ accepted: true }])
      expect(warn).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ message: 'careless' }))
      warn.mockRestore()
    },
  )
})

describe('a listener', () => {
  test.each<[unknown, unknown, RegExp]>([
    ['complete', () => undefined, /perhaps completed/],
    ['__proto__', () => undefined, /one of admitted/],
    [undefined, () => undefined, /got: undefined/],
    ['completed', 5, /listener to be a function, got: 5/],
  ])('for %s is refused when it would never be called', (name, listener, message) => {
    const { shaper } = new Stage('5, 1/s')
    expect(() => shaper.on(name as 'completed', listener as never)).toThrow(message)
  })

  test('that fails later is reported, too', async () => {
    const stage = new Stage('5, 1/s')
    const errors: unknown[] = []
    stage.shaper.on('error', (error) => void errors.push(error.message))
    stage.shaper.on('admitted', async () => Promise.reject(new Error('later')))
    await stage.shaper.enqueue('k', 0)
    await stage.pass(0)
    expect(errors).toEqual(['later'])
  })
})
