import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HOUR, SECOND } from '../../src/core/duration.ts'
import type { RedisBackend } from '../../src/redis/redis-backend.ts'
import type { HandedJob } from '../../src/redis/verbs/handed-job.ts'
import { DRIVERS } from '../conformance/drivers.ts'
import { at, COMPLETED, type Driver, request } from '../support/backend-driver.ts'
import { FluidFamilies } from '../support/fluid-families.ts'
import { claim, openRedisBackend } from '../support/redis-driver.ts'

/** What the outermost total takes for one unit. */
const UNIT = SECOND / 10
const OUTERMOST = '1000000, 10/s'
const NEVER = Number.POSITIVE_INFINITY
/** Of the scheduler: three units. */
const LOOK_AHEAD = 3 * UNIT
/** Fast enough to hold no child back, and slow enough to be a valid limit. */
const FAST = '1000000, 1000/s'
const KEYS = [
  'a',
  'a/1',
  'a/2',
  'a/3',
  'a/x',
  'a/x/1',
  'a/x/2',
  'a/y/1',
  'a/y/2',
  'a/x/p/1',
  'a/x/p/2',
  'a/x/p/3',
  'a/x/p/q',
  'a/x/p/q/1',
  'a/x/p/q/2',
] as const
const INNER = ['a/x/', 'a/y/', 'a/x/p/', 'a/x/p/q/'] as const

const weight = fc.integer({ min: 1, max: 5 })
const family = fc.record({
  inner: fc.subarray([...INNER]),
  weights: fc.dictionary(fc.constantFrom(...KEYS, ...INNER), weight),
  /** The largest job of a key; others have none above two. */
  large: fc.dictionary(fc.constantFrom(...KEYS), fc.integer({ min: 3, max: 8 })),
  arrivals: fc.array(
    fc.record({
      after: fc.nat(8),
      key: fc.constantFrom(...KEYS),
      costs: fc.array(fc.nat(), { minLength: 1, maxLength: 8 }),
    }),
    { minLength: 1, maxLength: 40, size: 'max' },
  ),
})
type Family = typeof family extends fc.Arbitrary<infer Value> ? Value : never

/** How the jobs of a family depart: what is due at a time, one after the other. */
interface Line {
  admit(key: string, cost: number, now: number): Promise<void>
  departs(now: number): Promise<readonly { readonly key: string; readonly cost: number }[]>
}

/** Plays a family by the outermost total alone, and holds each child of each total to its fluid share. */
async function play(
  { inner, weights, large, arrivals }: Family,
  open: (limits: Record<string, string>) => Promise<Line>,
  handed: number,
): Promise<void> {
  const weightOf = (name: string) => weights[name as keyof typeof weights] ?? 1
  const totals = ['a/', ...inner]
  const limits = Object.fromEntries(
    [...KEYS, ...inner].map((name) => [name, `${FAST}, weight ${weightOf(name)}`]),
  )
  const line = await open({ ...limits, 'a/': OUTERMOST })
  const fluid = new FluidFamilies(totals, KEYS, weightOf)
  let ticks = 0
  let waiting = 0
  const pass = async (until: number) => {
    for (; ticks < until; ticks++) {
      for (const { key, cost } of await line.departs(at(0) + ticks * UNIT)) {
        waiting -= cost
        fluid.depart(key, cost)
        for (const { total, child, off, most } of fluid.offsets())
          expect(off, `${child} of ${total} after ${key}`).toBeLessThanOrEqual(most + handed + 1e-5)
      }
    }
  }
  for (const { after, key, costs } of arrivals) {
    await pass(ticks + after)
    for (const some of costs) {
      const cost = 1 + (some % (large[key] ?? 2))
      await line.admit(key, cost, at(0) + ticks * UNIT)
      fluid.arrive(key, cost)
      waiting += cost
    }
  }
  await pass(ticks + waiting + 8)
  expect(waiting).toBe(0)
}

const lineOf = (driver: Driver): Line => {
  let jobs = 0
  return {
    async admit(key, cost, now) {
      expect(await driver.admit(request(`j${jobs++}`, { key, cost }), now)).toMatchObject({ accepted: true })
    },
    async departs(now) {
      const started = []
      for (let job = await driver.startNext(now); job; job = await driver.startNext(now)) {
        started.push({ key: job.key, cost: job.cost })
        await driver.finish(job.id, COMPLETED, now)
      }
      return started
    },
  }
}

const RUNS: Readonly<Record<string, number>> = { memory: 150, redis: 12 }

test.each(DRIVERS)(
  '%s: no child of nested totals is further from its fluid share than its own largest job and its part of the largest of all',
  async (name, open) => {
    await fc.assert(
      fc.asyncProperty(family, async (drawn) => {
        const drivers: Driver[] = []
        try {
          await play(
            drawn,
            async (limits) => {
              drivers.push(await open(limits))
              return lineOf(drivers[0]!)
            },
            0,
          )
        } finally {
          for (const driver of drivers) await driver.close()
        }
      }),
      { numRuns: RUNS[name]! },
    )
  },
)

/** Hands over what departs within the look-ahead, and starts each at its slot. */
const handingOver = ({ verbs }: RedisBackend): Line => {
  let handed: (HandedJob & { asksAt: number; startsAt: number; cost: number; readonly key: string })[] = []
  let jobs = 0
  const ask = async (job: (typeof handed)[number], now: number) => {
    if (job.startsAt < NEVER || job.asksAt > now) return
    const [answer] = (await verbs.gate(0, [{ ...job, worker: 'test', lead: 0, error: 0, lease: HOUR }], now))
      .answers
    if (answer?.kind === 'wait') job.asksAt = answer.until
    else if (answer?.kind === 'granted')
      Object.assign(job, { startsAt: answer.startAt, cost: answer.job.cost })
    // Its slot, or that of one before it, is too far away by now, and it is in its line again.
    else if (answer?.kind === 'returned' || answer?.kind === 'stale')
      handed = handed.filter((other) => other !== job)
    else throw new Error(`${job.id}: ${answer?.kind}`)
  }
  return {
    async admit(key, cost, now) {
      const { admission } = await verbs.admit(request(`j${jobs++}`, { key, cost }), now)
      expect(admission.accepted).toBe(true)
    },
    async departs(now) {
      const claimed = (await claim(verbs, now, LOOK_AHEAD, 200)).jobs
      handed.push(...claimed.map((job) => ({ ...job, asksAt: now, startsAt: NEVER, cost: 0 })))
      for (const job of [...handed]) await ask(job, now)
      const due = handed.filter(({ startsAt }) => startsAt <= now)
      handed = handed.filter(({ startsAt }) => startsAt > now)
      const outcome = { kind: 'completed', result: undefined } as const
      for (const job of due) await verbs.finish(0, [{ ...job, startedAt: now, outcome }], now)
      return due
    },
  }
}

test('on Redis, what is handed over and has not started comes on top', async () => {
  await fc.assert(
    fc.asyncProperty(family, async (drawn) => {
      const backends: RedisBackend[] = []
      const open = async (limits: Record<string, string>) => {
        const backend = await openRedisBackend({ limits, openedAt: at(0) })
        backends.push(backend)
        return handingOver(backend)
      }
      try {
        // The last one begins within the look-ahead.
        const largest = Math.max(2, ...Object.values(drawn.large))
        await play(drawn, open, LOOK_AHEAD / UNIT + largest)
      } finally {
        for (const backend of backends) backend.wakes.stop()
      }
    }),
    { numRuns: 12 },
  )
})
