import { describe, expect, test } from 'vitest'
import { FreezeError } from '../../../src/index.ts'
import { neverSettles, Stage } from '../../support/stage.ts'

/** The line that must not be delayed: 40 jobs at 7/s, and more as it empties. */
async function departuresBeside(trouble: (stage: Stage) => Promise<unknown>): Promise<number[]> {
  const stage = new Stage({ '*': '5000, 7/s', trouble: '100000, 900/s' })
  stage.shaper.work(
    async (job) => {
      if (job.key !== 'trouble') return
      if (job.data === 'hang') await neverSettles()
      if (job.data === 'slow') await stage.sleep(60_000)
      if (job.data === 'fail') throw new Error('as planned')
      if (job.data === 'freeze') throw new FreezeError({ forMs: 100 })
    },
    { concurrency: 100_000 },
  )
  await stage.fill('calm', 40)
  await trouble(stage)
  await stage.pass(10_000)
  await stage.close({ drainMs: 0 })
  await stage.conforms()
  return stage.startsOf('calm')
}

describe('no other bucket is late, not by a microsecond, when a bucket', () => {
  const line = (count: number, data: string, options = {}) =>
    Array.from({ length: count }, () => ({ key: 'trouble', data, ...options }))

  test.each<[string, (stage: Stage) => Promise<unknown>]>([
    [
      'is frozen',
      async ({ shaper }) => {
        await shaper.enqueueMany(line(100, 'ok'))
        await shaper.freeze('trouble', 5_000)
      },
    ],
    [
      'is paused',
      async ({ shaper }) => {
        await shaper.enqueueMany(line(100, 'ok'))
        await shaper.pause('trouble')
      },
    ],
    ['is huge', ({ shaper }) => shaper.enqueueMany(line(20_000, 'ok'))],
    [
      'is full and asked again and again',
      async ({ shaper }) => {
        await shaper.limits.set('trouble', '100, 900/s')
        await shaper.enqueueMany(line(5_000, 'ok'))
      },
    ],
    ['has slow handlers', ({ shaper }) => shaper.enqueueMany(line(3_000, 'slow'))],
    ['has handlers that never settle', ({ shaper }) => shaper.enqueueMany(line(3_000, 'hang'))],
    ['always fails', ({ shaper }) => shaper.enqueueMany(line(500, 'fail', { attempts: 1_000, backoff: 1 }))],
    ['freezes itself over and over', ({ shaper }) => shaper.enqueueMany(line(500, 'freeze'))],
    [
      'expires all at once',
      async ({ shaper }) => {
        await shaper.pause('trouble')
        await shaper.resume('trouble')
        await shaper.enqueueMany(line(5_000, 'ok', { deadlineMs: 6_000 }))
        await shaper.pause('trouble')
      },
    ],
    [
      'has its limit changed all the time',
      async (stage) => {
        await stage.shaper.enqueueMany(line(5_000, 'ok'))
        for (let n = 1; n <= 50; n++) {
          stage.clock.wake(n * 90_000, () => void stage.shaper.limits.set('trouble', `${n * 100}, ${n}/s`))
        }
      },
    ],
  ])('%s', async (_, trouble) => {
    const undisturbed = Array.from({ length: 40 }, (_, n) => (n * 1_000) / 7)
    const departures = await departuresBeside(trouble)
    expect(departures).toHaveLength(40)
    for (const [n, ms] of departures.entries()) expect(ms).toBeCloseTo(undisturbed[n]!, 3)
  })
})
