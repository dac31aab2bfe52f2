import { expect, onTestFinished, test } from 'vitest'
import { Shaper, type ShaperOptions } from '../../src/index.ts'
import { eventually } from '../support/patience.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'

/** As two processes have them at one line. */
function twoShapers(options: Partial<ShaperOptions> = {}) {
  const prefix = uniquePrefix()
  const [producer, worker] = Array.from({ length: 2 }, () => {
    const connection = redisAddress()
    const shaper = new Shaper('sms', { limits: { '*': '100, 1/s' }, connection, prefix, ...options })
    onTestFinished(() => shaper.close())
    return shaper
  })
  return { producer: producer!, worker: worker! }
}

test('shows that there is no worker, that every handler is taken, and when neither is so any more', async () => {
  const { producer, worker } = twoShapers({ shards: 2 })
  await producer.enqueueMany(['x', 'y', 'z'].map((id) => ({ key: 'a', data: id, id })))
  const reasons = async (id: string) => (await producer.explain(id))!.holds.map(({ reason }) => reason)
  await eventually(async () => expect(await reasons('z')).toContain('no-worker'))
  const ends: (() => void)[] = []
  worker.work(() => new Promise<void>((resolve) => void ends.push(resolve)), { concurrency: 1 })
  await eventually(async () => expect((await producer.explain('x'))!.state).toBe('running'))
  await eventually(async () => expect(await reasons('z')).toContain('busy'))
  ends[0]!()
  await eventually(async () => expect((await producer.explain('x'))!.summary).toMatch(/^Completed/))
  await eventually(() => expect(ends).toHaveLength(2))
  ends[1]!()
  await eventually(() => expect(ends).toHaveLength(3))
  ends[2]!()
  await eventually(async () => expect((await producer.flow()).ended).toBe(3))
  expect(await producer.flow()).toMatchObject({ admitted: 3, departed: expect.any(Number) })
})

test('one process sees the verdicts and departures of another', async () => {
  const { producer, worker } = twoShapers({ limits: { '*': '100, 20/s' } })
  await worker.recent('a')
  worker.work(() => undefined)
  for (const id of ['x', 'y', 'z']) await producer.enqueue('a', null, { id })
  await eventually(async () => expect((await producer.recent('a')).departures).toHaveLength(3))
  const { verdicts, departures } = await worker.recent('a')
  expect(verdicts.map(({ id, accepted }) => [id, accepted])).toEqual([
    ['z', true],
    ['y', true],
    ['x', true],
  ])
  expect(departures.map(({ id }) => id)).toEqual(['z', 'y', 'x'])
  for (const { gapMs, gapRatio } of departures.slice(0, 2)) {
    expect(gapMs).toBeGreaterThanOrEqual(45)
    expect(gapRatio).toBeCloseTo(gapMs! / 50, 5)
  }
  expect(departures[2]).not.toHaveProperty('gapMs')
})
