import { describe, expect, it } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { withLibraries } from '../../src/redis/scripts/script.ts'
import type { HandedJob } from '../../src/redis/verbs/handed-job.ts'
import { at } from '../support/backend-driver.ts'
import { COMPLETED, RedisStage } from './redis-stage.ts'

const LIBRARIES =
  'shard forward loss lease job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace state blocks next due line later sums waiting member summed chain total overdue share standing places'.split(
    ' ',
  )

describe('a call that writes many buckets at its end', () => {
  it('writes what was done before an error, which goes on to its caller', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xyz', 0)
    const script = withLibraries(
      '#!lua',
      LIBRARIES,
      `local meta = read_meta()
      later.write_after(meta, function()
        local bucket = read_bucket_and_line('a')
        bucket.paused = 1
        later.reschedule(bucket, meta)
        foreign('something')
      end)`,
    )
    await expect(stage.redis.eval(script, 1, stage.tag)).rejects.toThrow(/^VR_FOREIGN something/)
    expect(await stage.views.inspect('a', at(1))).toMatchObject({ paused: true })
  })

  it('takes several reports of one bucket, also the same again', async () => {
    const stage = await RedisStage.open('9, 1000/s')
    await stage.lineUp('vwxyz', 0)
    const [v] = await stage.hand(0, 250)
    await stage.gate(v!, 0)
    const { jobs } = await stage.follow(v!.epoch, 0)
    const handed = [v!, ...jobs.map((job) => job.handed)]
    const reports = handed.map((job, index) => ({ ...job, startedAt: at(index / 1_000), outcome: COMPLETED }))
    const answers = await stage.backend.verbs.finish(0, [...reports, reports[0]!], at(0.01))
    expect(answers.map(({ isMine }) => isMine)).toEqual(Array(6).fill(true))
    await stage.balances()
    expect(await stage.views.inspect('a', at(1))).toMatchObject({ waiting: 0, running: 0 })
  })

  it('leaves itself the time to pack what quotas count', async () => {
    const stage = await RedisStage.open(
      '99, 39/s, 9000/hour, 8000 tokens/hour 1 each, 7000 units/hour 1 each',
    )
    const keys = Array.from({ length: 60 }, (_, n) => `k${n}`)
    let granted = 0
    for (let round = 0; round < 30; round++) {
      const seconds = 61 * round
      for (const key of keys) await stage.admit(`${key}-${round}`, seconds, { key })
      const jobs: HandedJob[] = []
      while (jobs.length < keys.length) jobs.push(...(await stage.hand(seconds)))
      const asks = jobs.map((job) => ({ ...job, worker: 'w1', lead: 0, error: 0, lease: 30 * SECOND }))
      const all: HandedJob[] = []
      for (let left = asks; left.length > 0; ) {
        const { answers } = await stage.backend.verbs.gate(0, left, at(seconds))
        const now = left.filter((_, n) => answers[n]!.kind === 'granted')
        if (left === asks) granted = now.length
        all.push(...now)
        left = left.filter((_, n) => answers[n]!.kind !== 'granted')
      }
      for (const job of all) await stage.finish(job, COMPLETED, seconds, seconds)
    }
    // Each has three quotas with thirty entries. Without the time for packing those, 41 would be granted in one call.
    expect(granted).toBeGreaterThan(20)
    expect(granted).toBeLessThan(35)
  })
})
