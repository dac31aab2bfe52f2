import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FreezeError, Shaper } from '../../src/index.ts'
import { checkHistory, type HistoryEvent, recordHistory, VirtualClock } from '../../src/testing.ts'

const MS = 1_000
const KEYS = [
  'a',
  'a/z',
  'a/x',
  'a/x/2',
  'a/x/1',
  'a/x/1/3',
  'a/x/1/4',
  'a/y/5',
  'a/y/6',
  'b/1',
  'b/2',
] as const
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
  '30, 50/s, 90 tokens/second 10 each, 12 per 2 seconds, 3 at once',
)

const step = fc.record({
  afterMs: fc.oneof(fc.constant(0), fc.nat(300)),
  key: fc.constantFrom(...KEYS),
  family: fc.constantFrom('a/', 'a/x/', 'a/x/1/', 'a/y/'),
  action: fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        do: fc.constant('enqueue' as const),
        cost: fc.integer({ min: 1, max: 3 }),
        tokens: fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined }),
        deadlineMs: fc.option(fc.integer({ min: 1, max: 4_000 }), { nil: undefined, freq: 4 }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('turn' as const), holdsMs: fc.nat(300) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('ask' as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('freeze' as const), forMs: fc.nat(500), whole: fc.boolean() }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('pause' as const), forMs: fc.nat(500), whole: fc.boolean() }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('key limit' as const), limit: ofKey }) },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('total limit' as const),
        total: fc.constantFrom(...TOTALS),
        limit: ofTotal,
      }),
    },
  ),
})

const fate = fc.record({
  takesMs: fc.nat(300),
  ends: fc.constantFrom('well', 'well', 'badly', 'frozen'),
  settles: fc.option(fc.nat(90), { nil: undefined }),
})

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
      const hasFrozen = new Set<string>()
      shaper.work(
        recording.timed(async (job) => {
          const { takesMs, ends, settles } = fates[calls++ % fates.length]!
          await clock.sleep(takesMs * MS)
          // Where nothing counts tokens at the moment, it is refused.
          if (settles !== undefined) await job.settle({ tokens: settles }).catch(() => false)
          if (ends === 'badly') throw new Error('no')
          if (ends !== 'frozen' || hasFrozen.has(job.id)) return
          hasFrozen.add(job.id)
          throw new FreezeError({ forMs: takesMs + 1 })
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
          const { cost, tokens, deadlineMs } = action
          const answer = await shaper.enqueue(key, null, {
            cost,
            ...(tokens !== undefined && { costs: { tokens } }),
            ...(deadlineMs !== undefined && { deadlineMs }),
          })
          if (answer.accepted) ids.push(answer.id)
        } else if (action.do === 'turn') {
          void shaper
            .acquire(key)
            .then(async (turn) => {
              await clock.sleep(action.holdsMs * MS)
              await turn.release()
            })
            .catch(() => undefined)
        } else if (action.do === 'ask') for (const id of ids) await recording.promise(id)
        else if (action.do === 'cancel') await shaper.cancel(ids.at(-1) ?? 'none')
        else if (action.do === 'freeze') await shaper.freeze(held, action.forMs + 1)
        else if (action.do === 'pause') {
          await shaper.pause(held)
          resumed.push(held)
        } else {
          const pattern = action.do === 'key limit' ? key : action.total
          await shaper.limits.set(pattern, action.limit)
        }
        if (resumed.length > 2) await shaper.resume(resumed.shift()!)
      }
      for (const name of resumed) await shaper.resume(name)
      await clock.advance(600_000 * MS)
      const audit = await shaper.audit()
      expect(audit.waiting + audit.retrying).toBe(0)
      await recording.audit()
      const laws = checkHistory(recording.history, { concurrency: handlers })
      // While handlers are few, it is they who decide who goes.
      expect(handlers === 50 ? laws : laws.filter(({ law }) => law !== 'L12')).toEqual([])
      await clock.advance(7_200_000 * MS)
      expect((await shaper.buckets()).total).toBe(0)
      await shaper.close()
    }),
    { numRuns: 300 },
  )
})

const comesAndGoes = fc.record({
  afterMs: fc.nat(400),
  key: fc.constantFrom(...KEYS),
  action: fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant('enqueue' as const), jobs: fc.integer({ min: 1, max: 6 }) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('turn' as const), holdsMs: fc.nat(500) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('set' as const),
        total: fc.constantFrom(...TOTALS),
        limit: ofTotal,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('unset' as const), total: fc.constantFrom(...TOTALS) }),
    },
  ),
})

test('totals that come and go under a backlog lose no job, and keep the laws of keys; the last ones hold', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(comesAndGoes, { minLength: 1, maxLength: 40, size: 'max' }),
      fc.dictionary(fc.constantFrom('*', ...KEYS), ofKey),
      fc.array(fc.nat(700), { minLength: 1, maxLength: 5 }),
      async (steps, keys, takes) => {
        const clock = new VirtualClock()
        const shaper = new Shaper<null>('families', { limits: { '*': '20, 20/s', ...keys }, clock })
        const recording = recordHistory(shaper, clock)
        let calls = 0
        shaper.work(recording.timed(() => clock.sleep(takes[calls++ % takes.length]! * MS)))
        for (const { afterMs, key, action } of steps) {
          await clock.advance(afterMs * MS)
          if (action.do === 'set') await shaper.limits.set(action.total, action.limit)
          else if (action.do === 'unset') await shaper.limits.unset(action.total)
          else if (action.do === 'turn') {
            void shaper.acquire(key).then(
              async (turn) => {
                await clock.sleep(action.holdsMs * MS)
                await turn.release()
              },
              () => undefined,
            )
          } else for (let job = 0; job < action.jobs; job++) await shaper.enqueue(key, null)
        }
        await clock.advance(600_000 * MS)
        const { waiting, running } = await shaper.audit()
        expect({ waiting, running }).toEqual({ waiting: 0, running: 0 })
        await recording.audit()
        const ofKeys = checkHistory(recording.history.filter((event) => !isOfTotal(event)))
        expect(ofKeys).toEqual([])
        await clock.advance(7_200_000 * MS)
        expect((await shaper.buckets()).total).toBe(0)
        // What is in force now holds from now on, whatever stood below which total before.
        const after = recordHistory(shaper, clock)
        for (const key of KEYS) for (let job = 0; job < 3; job++) await shaper.enqueue(key, null)
        await clock.advance(600_000 * MS)
        expect((await shaper.audit()).waiting).toBe(0)
        expect(checkHistory(after.history)).toEqual([])
        await shaper.close()
      },
    ),
    { numRuns: 200 },
  )
})

function isOfTotal(event: HistoryEvent): boolean {
  return 'key' in event && event.key.endsWith('/')
}
