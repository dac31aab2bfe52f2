import { expect, onTestFinished, test } from 'vitest'
import { Shaper, type ShaperOptions } from '../../src/index.ts'
import { eventually } from '../support/patience.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'

const INTERVAL_MS = 50
const TOLERANCE_MS = 5

/** As three processes have them at one line; each learns what the others do only through Redis. */
function threeShapers(options: Partial<ShaperOptions> = {}) {
  const prefix = uniquePrefix()
  const [worker, operator, onlooker] = Array.from({ length: 3 }, () => {
    const shaper = new Shaper('sms', {
      limits: { '*': '100, 1/m' },
      connection: redisAddress(),
      prefix,
      ...options,
    })
    onTestFinished(() => shaper.close())
    return shaper
  })
  return { worker: worker!, operator: operator!, onlooker: onlooker! }
}

const CHANGES = {
  'set by hand': ({ limits }: Shaper) => limits.set('*', '100, 20/s', { by: 'ann' }),
  'loaded from a file': ({ limits }: Shaper) => limits.load({ '*': '100, 20/s' }, { origin: 'file' }),
  'reset to what the file says': ({ limits }: Shaper) => limits.reset('*'),
}

test.each(Object.entries(CHANGES))(
  'a limit that is %s reaches all processes and all that waits, without a burst',
  async (how, change) => {
    const { worker, operator, onlooker } = threeShapers({ shards: 2 })
    if (how.startsWith('reset')) {
      await operator.limits.load({ '*': '100, 20/s' }, { origin: 'file' })
      await operator.limits.set('*', '100, 1/m')
    }
    const keys = ['a', 'b', 'c', 'd']
    const departed = new Map<string, number[]>(keys.map((key) => [key, []]))
    const started = () => [...departed.values()].flat().length
    worker.work(({ key, departedAt }) => void departed.get(key)!.push(departedAt))
    await worker.enqueueMany(keys.flatMap((key) => Array.from({ length: 5 }, (_, data) => ({ key, data }))))
    await onlooker.ready()
    await eventually(() => expect(started()).toBe(keys.length))

    await change(operator)
    await eventually(() => expect(started()).toBeGreaterThan(keys.length))
    for (const { limits } of [worker, operator, onlooker]) {
      const isKnown = () => expect(limits.resolve('a').limit).toBe('100, 20/s')
      await eventually(isKnown)
    }
    expect(onlooker.limits.list()).toEqual(operator.limits.list())

    await eventually(() => expect(started()).toBe(20))
    for (const times of departed.values()) {
      for (const [index, at] of times.slice(1).entries()) {
        expect(at - times[index]!).toBeGreaterThanOrEqual(INTERVAL_MS - TOLERANCE_MS - 0.001)
      }
    }
  },
)

test('a limit that is lowered holds waiting jobs back', async () => {
  const { worker, operator, onlooker } = threeShapers({ limits: { '*': '100, 20/s' } })
  const departed: number[] = []
  worker.work(({ departedAt }) => void departed.push(departedAt))
  await worker.enqueueMany(Array.from({ length: 60 }, (_, data) => ({ key: 'k', data })))
  await eventually(() => expect(departed.length).toBeGreaterThan(3))
  await operator.limits.set('*', '100, 1/m')
  const before = departed.length
  // One whose slot was granted before starts at it.
  const isHeldBack = async () => {
    const { nextDepartureAt, jobs } = (await onlooker.inspect('k'))!
    expect(jobs).toBe(60 - departed.length)
    expect(nextDepartureAt! - departed.at(-1)!).toBeGreaterThan(60_000 - TOLERANCE_MS - 0.001)
  }
  await eventually(isHeldBack)
  expect(departed.length).toBeLessThanOrEqual(before + 1)
})

test('schedulers alone look after a line whose workers run none, and after deadlines when there is no worker', async () => {
  const { worker, operator: keeper } = threeShapers()
  const expired: string[] = []
  keeper.on('expired', ({ id }) => void expired.push(id))
  await worker.enqueue('k', 0, { id: 'first' })
  await worker.pause('late')
  const late = await worker.enqueue('late', 0, { id: 'late', deadlineMs: 60_000 })
  expect(late).toMatchObject({ accepted: false, reason: 'paused' })
  await worker.resume('late')
  await worker.enqueue('late', 0, { id: 'late', deadlineMs: 300 })
  await worker.pause('late')
  const done: string[] = []
  worker.work(({ id }) => void done.push(id), { scheduler: false })
  // Twice is once.
  keeper.schedule()
  keeper.schedule()
  await eventually(() => expect([done, expired]).toEqual([['first'], ['late']]))
  expect(await keeper.audit()).toMatchObject({ admitted: 2, ended: 2 })
  await keeper.close()
  expect(() => keeper.schedule()).toThrow(expect.objectContaining({ code: 'closed' }))
})

test('the trace of a job comes with every attempt, and a FinalError ends it whatever attempts are left', async () => {
  const { worker, operator: producer } = threeShapers({ limits: { '*': '100, 20/s' } })
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  const seen: unknown[] = []
  worker.work((job) => {
    seen.push([job.id, job.attempt, job.traceparent])
    // As another copy of the package throws it.
    if (job.attempt === 2)
      throw Object.assign(new Error('no such number'), { name: 'FinalError', code: 'final' })
    throw new Error('not yet')
  })
  const options = { id: 'x', attempts: 5, backoff: 10, traceparent }
  const admission = await producer.enqueue('k', 0, options)
  expect(admission).toMatchObject({ accepted: true, waiting: 1, capacity: 100 })
  await eventually(async () => expect(await producer.job('x')).toMatchObject({ state: 'failed' }))
  expect(await producer.job('x')).toMatchObject({ attempt: 2, error: 'no such number' })
  expect(seen).toEqual([
    ['x', 1, traceparent],
    ['x', 2, traceparent],
  ])
})
