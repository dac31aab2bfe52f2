import { expect, onTestFinished, test, vi } from 'vitest'
import { Shaper, type ShaperOptions } from '../../src/index.ts'
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

const WITHIN = { timeout: 20_000, interval: 50 }

test('where no worker is, it says so; where every handler runs, too; and when neither is so any more', async () => {
  const { producer, worker } = twoShapers({ shards: 2 })
  await producer.enqueueMany(['x', 'y', 'z'].map((id) => ({ key: 'a', data: id, id })))
  const reasons = async (id: string) => (await producer.explain(id))!.holds.map(({ reason }) => reason)
  await vi.waitFor(async () => expect(await reasons('z')).toContain('no-worker'), WITHIN)
  const ends: (() => void)[] = []
  worker.work(() => new Promise<void>((resolve) => void ends.push(resolve)), { concurrency: 1 })
  await vi.waitFor(async () => expect((await producer.explain('x'))!.state).toBe('running'), WITHIN)
  await vi.waitFor(async () => expect(await reasons('z')).toContain('busy'), WITHIN)
  ends[0]!()
  await vi.waitFor(async () => expect((await producer.explain('x'))!.summary).toMatch(/^Completed/), WITHIN)
  await vi.waitFor(() => expect(ends).toHaveLength(2), WITHIN)
  ends[1]!()
  await vi.waitFor(() => expect(ends).toHaveLength(3), WITHIN)
  ends[2]!()
  await vi.waitFor(async () => expect((await producer.flow()).ended).toBe(3), WITHIN)
  expect(await producer.flow()).toMatchObject({ admitted: 3, departed: expect.any(Number) })
})

test('one process sees the verdicts and departures of another', async () => {
  const { producer, worker } = twoShapers({ limits: { '*': '100, 20/s' } })
  await worker.recent('a')
  worker.work(() => undefined)
  for (const id of ['x', 'y', 'z']) await producer.enqueue('a', null, { id })
  await vi.waitFor(async () => expect((await producer.recent('a')).departures).toHaveLength(3), WITHIN)
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
