import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DAY, SECOND } from '../../src/core/duration.ts'
import type { HandedJob } from '../../src/redis/verbs/handed-job.ts'
import { COMPLETED, RedisStage } from '../conformance/redis-stage.ts'
import { at } from '../support/backend-driver.ts'

/** The amount and the length of each quota; the pace lets more start. */
const LIMITS = [
  ['40, 20/s, 5/second, tolerance 0', [[5, 1]]],
  ['40, 20/s, 6 per 3 seconds, tolerance 0', [[6, 3]]],
  [
    '40, 40/s, 4/second, 12 per 7 seconds, tolerance 0',
    [
      [4, 1],
      [12, 7],
    ],
  ],
] as const satisfies readonly (readonly [string, readonly (readonly [number, number])[]])[]

/** Seconds. A process reports a step by this much more than it was, and up to a quarter of a second as a small one. */
const ERROR = 0.001
const SMALL = 0.25

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('try' as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 20, max: 900 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('leap' as const),
      by: fc.constantFrom(0.02, 0.2, 0.7, 1.9, 2.5, 3.9, 60, DAY / SECOND),
      /** Until a process notices; meanwhile others ask. */
      ms: fc.integer({ min: 0, max: 900 }),
      isAskedBefore: fc.boolean(),
    }),
  },
)

test('no more starts within the window of a quota than it has, however the clock is set forward', {
  timeout: 600_000,
}, async () => {
  const trace = fc.record({
    limit: fc.constantFrom(...LIMITS),
    steps: fc.array(step, { minLength: 30, maxLength: 90 }),
  })
  await fc.assert(
    fc.asyncProperty(trace, async ({ limit: [limit, quotas], steps }) => {
      const stage = await RedisStage.open(limit)
      /** By a clock that is never set, and by how much that of Redis is ahead of it; seconds. */
      let real = 0
      let ahead = 0
      let jobs = 0
      const starts: number[] = []
      const start = async (job: HandedJob, slot: number) => {
        const startAt = (slot - at(0)) / SECOND
        await stage.start(job, startAt)
        await stage.finish(job, COMPLETED, startAt)
        starts.push(startAt - ahead)
        real = Math.max(real, startAt - ahead)
      }
      /** A worker asks for the head. */
      const ask = async () => {
        await stage.admit(`j${jobs++}`, real + ahead)
        const [job] = await stage.hand(real + ahead)
        const answer = job && (await stage.gate(job, real + ahead))
        return answer?.kind === 'granted'
          ? { job: job!, slot: answer.slot, startAt: answer.startAt }
          : undefined
      }
      for (const asked of steps) {
        if (asked.do === 'pass') real += asked.ms / 1_000
        else if (asked.do === 'try') {
          const granted = await ask()
          if (granted !== undefined) await start(granted.job, granted.startAt)
        } else {
          ahead += asked.by
          stage.setClock(real + ahead)
          // The answer shows the step to a worker that did not know of it, so it starts nothing by it.
          const granted = asked.isAskedBefore ? await ask() : undefined
          real += asked.ms / 1_000
          const by = (asked.by + ERROR) * SECOND
          if (asked.by <= SMALL) await stage.step(real + ahead, by)
          else await stage.jump(real + ahead, by)
          real += 0.001
          if (granted === undefined) continue
          const answer = await stage.gate(granted.job, real + ahead, { missed: granted.slot })
          if (answer.kind === 'granted') await start(granted.job, answer.startAt)
        }
      }
      for (const [amount, length] of quotas) {
        for (const start of starts) {
          const within = starts.filter((other) => other <= start && other > start - length + 1e-6)
          expect(within.length, `${amount} in ${length} s, until ${start}`).toBeLessThanOrEqual(amount)
        }
      }
      // No line stands still for longer than a window and a step that no process told from a silence.
      real += 16
      expect(await ask()).toBeDefined()
    }),
    { numRuns: 60 },
  )
})
