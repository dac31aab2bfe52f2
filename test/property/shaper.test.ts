import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Clock, FreezeError, Shaper } from '../../src/index.ts'
import { checkHistory, recordHistory, VirtualClock } from '../../src/testing.ts'

const KEYS = ['a', 'b/x', 'b/y']
const LIMITS = [
  '5, 2/s',
  '8, 10/s',
  '3, 1/s',
  '20, 70/s',
  '6, 3/s',
  '4, 20 per 3 seconds',
  '8, 10/s, warm-up 3s',
  '20, 70/s, warm-up 1500ms from 10/s',
  '6, 3/s, warm-up 2s',
  '8, 10/s, tolerance 0',
  '20, 70/s, tolerance 0, warm-up 1500ms',
]
const MS = 1_000

const key = fc.constantFrom(...KEYS)
const pattern = fc.constantFrom('*', 'b', 'b/x', 'a')
const ms = (max: number) => fc.integer({ min: 1, max })

/** What happens next: to which job, and how long after the event before. */
const action = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({ do: fc.constant('enqueue' as const), key, cost: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('enqueueMany' as const),
      key,
      count: fc.integer({ min: 1, max: 6 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('deadline' as const), key, deadlineMs: ms(1_500) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel' as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('freeze' as const), key, forMs: ms(1_500) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('unfreeze' as const), key }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pause' as const), key }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('resume' as const), key }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('limit' as const), pattern, limit: fc.constantFrom(...LIMITS) }),
  },
)
const step = fc.record({ afterMs: fc.integer({ min: 0, max: 400 }), action })

/** What a handler does with its attempt. */
const fate = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('ok' as const), takesMs: fc.integer({ min: 0, max: 900 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('throw' as const), takesMs: fc.integer({ min: 0, max: 300 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('freeze' as const), takesMs: ms(1_000) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('hang' as const), takesMs: fc.constant(0) }) },
)

const scenario = fc.record({
  /** How late the timers of this process are, one after the other. */
  latenessMs: fc.array(fc.constantFrom(0, 0, 0.3, 2, 6, 40), { minLength: 1, maxLength: 5 }),
  limits: fc.record({ '*': fc.constantFrom(...LIMITS), b: fc.constantFrom(...LIMITS) }),
  concurrency: fc.constantFrom(1, 2, 100),
  attempts: fc.integer({ min: 1, max: 3 }),
  fates: fc.array(fate, { minLength: 1, maxLength: 8 }),
  steps: fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }),
})

/** A clock whose timers are late, as those of a busy process are. */
function lateClock(clock: VirtualClock, latenessMs: readonly number[]): Clock {
  let wakes = 0
  return {
    now: () => clock.now(),
    wake: (at, callback) => clock.wake(at + latenessMs[wakes++ % latenessMs.length]! * MS, callback),
  }
}

test('whatever comes in, no law is broken, and every job ends', async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async ({ limits, latenessMs, concurrency, attempts, fates, steps }) => {
      const clock = new VirtualClock()
      const shaper = new Shaper('property', {
        limits,
        clock: lateClock(clock, latenessMs),
        jobDefaults: { attempts, backoff: 150, timeoutMs: 2_000, keepFinished: 10_000 },
      })
      const recording = recordHistory(shaper)
      const ids: string[] = []
      let starts = 0
      shaper.on('admitted', ({ id }) => void ids.push(id))
      shaper.work(
        async (job) => {
          const { kind, takesMs } = fates[starts++ % fates.length]!
          if (kind === 'hang') return new Promise(() => undefined)
          if (takesMs > 0) await clock.sleep(takesMs * MS)
          // A bucket whose every start freezes it would never be done.
          if (kind === 'freeze' && job.fence % 3 === 0) throw new FreezeError({ forMs: takesMs })
          if (kind === 'throw') throw new Error('as planned')
          return takesMs
        },
        { concurrency },
      )

      for (const { afterMs, action } of steps) {
        await clock.advance(afterMs * MS)
        switch (action.do) {
          case 'enqueue':
            await shaper.enqueue(action.key, null, { cost: action.cost })
            break
          case 'enqueueMany':
            await shaper.enqueueMany(
              Array.from({ length: action.count }, (_, data) => ({ key: action.key, data })),
            )
            break
          case 'deadline':
            await shaper.enqueue(action.key, null, { deadlineMs: action.deadlineMs })
            break
          case 'cancel':
            if (ids.length > 0) await shaper.cancel(ids[action.which % ids.length]!)
            break
          case 'freeze':
            await shaper.freeze(action.key, action.forMs)
            break
          case 'unfreeze':
          case 'pause':
          case 'resume':
            await shaper[action.do](action.key)
            break
          case 'limit':
            await shaper.limits.set(action.pattern, action.limit)
        }
        await recording.audit()
      }

      for (const key of KEYS) await shaper.resume(key)
      await clock.advance(600_000 * MS)
      await recording.audit()
      expect(checkHistory(recording.history, { concurrency })).toEqual([])
      const { admitted, ended } = await shaper.audit()
      expect(ended).toBe(admitted)
      expect((await shaper.buckets()).total).toBe(0)
      await shaper.close()
    }),
    { numRuns: 1_000 },
  )
})

const arrival = fc.record({
  afterMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 900 })),
  key,
  cost: fc.integer({ min: 1, max: 3 }),
  deadlineMs: fc.option(ms(3_000), { nil: undefined }),
  freezeMs: fc.option(ms(2_000), { nil: undefined, freq: 10 }),
})

test('with free handlers every promise is kept to the microsecond, and the rate to the full', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...LIMITS),
      fc.array(arrival, { minLength: 1, maxLength: 60, size: 'max' }),
      async (limit, arrivals) => {
        const clock = new VirtualClock()
        const shaper = new Shaper('promises', { limits: { '*': limit }, clock })
        const recording = recordHistory(shaper)
        const promised = new Map<string, number>()
        shaper.on('departed', ({ id, at }) => {
          expect(at).toBeCloseTo(promised.get(id) ?? at, 3)
        })
        shaper.work(() => undefined)
        for (const { afterMs, key, cost, deadlineMs, freezeMs } of arrivals) {
          await clock.advance(afterMs * MS)
          // Who waits already was promised something else.
          if (freezeMs !== undefined && (await shaper.inspect(key)) === undefined)
            await shaper.freeze(key, freezeMs)
          const forecast = await shaper.forecast(key, cost)
          const admission = await shaper.enqueue(key, null, { cost, deadlineMs })
          const isHasty = !admission.accepted && admission.reason === 'deadline'
          if (!isHasty) expect({ ...admission, ...(admission.accepted && { id: '' }) }).toEqual(forecast)
          if (admission.accepted) promised.set(admission.id, admission.departsAt)
          else if (admission.reason !== 'too-costly') {
            await clock.advance((admission.retryAfterMs - 1) * MS)
            expect(await shaper.enqueue(key, null, { cost, deadlineMs })).toMatchObject({ accepted: false })
            await clock.advance(MS)
            expect(await shaper.enqueue(key, null, { cost, deadlineMs })).toMatchObject({ accepted: true })
          }
        }
        await clock.advance(600_000 * MS)
        await recording.audit()
        expect(checkHistory(recording.history, { minUtilisation: 0.999 })).toEqual([])
        expect((await shaper.audit()).ended).toBe((await shaper.audit()).admitted)
      },
    ),
    { numRuns: 1_000 },
  )
})

test('one job of cost 3 spaces the next start exactly like three of cost 1', async () => {
  const startsAfter = async (costs: readonly number[]) => {
    const clock = new VirtualClock()
    const shaper = new Shaper('cost', { limits: { '*': '10, 3/s' }, clock })
    const starts: number[] = []
    shaper.work(() => void starts.push(clock.now()))
    for (const cost of costs) await shaper.enqueue('key', null, { cost })
    await clock.advance(10_000 * MS)
    return starts.at(-1)
  }
  expect(await startsAfter([3, 1])).toBe(await startsAfter([1, 1, 1, 1]))
})
