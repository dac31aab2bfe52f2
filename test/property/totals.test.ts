import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Shaper } from '../../src/index.ts'
import { checkHistory, recordHistory, VirtualClock } from '../../src/testing.ts'

const MS = 1_000
const KEYS = ['a', 'a/z', 'a/x', 'a/x/2', 'a/x/1', 'a/x/1/3', 'a/x/1/4', 'a/y/5', 'a/y/6', 'b/1', 'b/2'] as const
const TOTALS = ['a/', 'a/x/', 'a/*/', 'a/x/1/', '*/'] as const

const weighed = (...limits: readonly string[]) =>
  fc
    .tuple(fc.constantFrom(...limits), fc.integer({ min: 1, max: 4 }))
    .map(([limit, weight]) => `${limit}, weight ${weight}`)

const ofKey = weighed('8, 2/s', '20, 5/s', '20, 20/s', '5, 200/s, tolerance 0', '20, 20/s, 1 at once')
const ofTotal = weighed(
  '30, 10/s',
  '10, 50/s, tolerance 0',
  '30, 100/s',
  '30, 20/s, 2 at once',
  '30, 50/s, 20/second',
  '30, 50/s, 90 tokens/second 10 each',
)

const step = fc.record({
  afterMs: fc.oneof(fc.constant(0), fc.nat(300)),
  key: fc.constantFrom(...KEYS),
  family: fc.constantFrom('a/', 'a/x/', 'a/x/1/', 'a/y/'),
  action: fc.oneof(
    { weight: 8, arbitrary: fc.record({ do: fc.constant('enqueue' as const), cost: fc.integer({ min: 1, max: 3 }) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('turn' as const), holdsMs: fc.nat(300) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('freeze' as const), forMs: fc.nat(500), whole: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('pause' as const), forMs: fc.nat(500), whole: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('key limit' as const), limit: ofKey }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('total limit' as const), limit: ofTotal }) },
  ),
})

const fate = fc.record({ takesMs: fc.nat(300), fails: fc.boolean(), freezes: fc.boolean() })

const scenario = fc.record({
  keys: fc.dictionary(fc.constantFrom('*', ...KEYS), ofKey),
  totals: fc.dictionary(fc.constantFrom(...TOTALS), ofTotal, { minKeys: 1 }),
  handlers: fc.constantFrom(1, 3, 50),
  fates: fc.array(fate, { minLength: 1, maxLength: 6 }),
  steps: fc.array(step, { minLength: 1, maxLength: 60, size: 'max' }),
})

test('below totals of any shape, whatever comes, every law holds and all jobs depart', async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async ({ keys, totals, handlers, fates, steps }) => {
      const clock = new VirtualClock()
      const shaper = new Shaper<null>('families', {
        limits: { '*': '20, 20/s', ...keys, ...totals },
        clock,
        jobDefaults: { attempts: 2, backoff: 100 },
      })
      const recording = recordHistory(shaper, clock)
      let calls = 0
      shaper.work(
        recording.timed(async () => {
          const { takesMs, fails } = fates[calls++ % fates.length]!
          await clock.sleep(takesMs * MS)
          if (fails) throw new Error('no')
        }),
        { concurrency: handlers },
      )
      const ids: string[] = []
      const resumed: string[] = []
      for (const { afterMs, key, family, action } of steps) {
        await clock.advance(afterMs * MS)
        const isKnown = shaper.limits.totals(family.slice(0, -1)).some(({ path }) => path === family)
        const held = 'whole' in action && action.whole && isKnown ? family : key
        if (action.do === 'enqueue') {
          const answer = await shaper.enqueue(key, null, { cost: action.cost })
          if (answer.accepted) ids.push(answer.id)
        } else if (action.do === 'turn') {
          void shaper
            .acquire(key)
            .then(async (turn) => {
              await clock.sleep(action.holdsMs * MS)
              await turn.release()
            })
            .catch(() => undefined)
        } else if (action.do === 'cancel') await shaper.cancel(ids.at(-1) ?? 'none')
        else if (action.do === 'freeze') await shaper.freeze(held, action.forMs + 1)
        else if (action.do === 'pause') {
          await shaper.pause(held)
          resumed.push(held)
        } else {
          const pattern = action.do === 'key limit' ? key : Object.keys(totals)[0]!
          await shaper.limits.set(pattern, action.limit)
        }
        if (resumed.length > 2) await shaper.resume(resumed.shift()!)
      }
      for (const name of resumed) await shaper.resume(name)
      await clock.advance(600_000 * MS)
      const audit = await shaper.audit()
      expect(audit.waiting + audit.retrying).toBe(0)
      await recording.audit()
      const laws = checkHistory(recording.history)
      // While handlers are few, it is they who decide who goes.
      expect(handlers === 50 ? laws : laws.filter(({ law }) => law !== 'L12')).toEqual([])
      await clock.advance(7_200_000 * MS)
      expect((await shaper.buckets()).total).toBe(0)
      await shaper.close()
    }),
    { numRuns: 300 },
  )
}, 120_000)
