import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import type { FinishOutcome } from '../../src/redis/verbs/finish.ts'
import type { HandedJob } from '../../src/redis/verbs/handed-job.ts'
import { RedisStage } from '../conformance/redis-stage.ts'
import { at } from '../support/backend-driver.ts'

const KEYS = ['a/1', 'a/2', 'a/x/3', 'a/x/4', 'b'] as const
const LIMITS = [
  { '*': '20, 10/s' },
  { '*': '90, 2000/s, tolerance 2ms' },
  { '*': '20, 10/s, 3/second', b: '20, 20/s, 1 at once' },
  { '*': '20, 100/s', 'a/': '90, 200/s' },
  { '*': '20, 100/s, 5/second', 'a/': '90, 50/s, tolerance 0, 9/second', 'a/x/': '30, 30/s, 2 at once' },
] as const
const OUTCOMES: readonly FinishOutcome[] = [
  { kind: 'completed', result: '1' },
  { kind: 'failed', error: 'no' },
  { kind: 'retry', error: 'no', delay: SECOND },
  { kind: 'freeze', duration: SECOND },
  { kind: 'back', worker: 'w' },
]

/** Of what was asked for, some again, and in another order. */
const asked = fc.array(fc.nat(40), { minLength: 1, maxLength: 25 })
const pick = <One>(all: readonly One[], places: readonly number[]): One[] =>
  all.length === 0 ? [] : places.map((place) => all[place % all.length]!)

interface Plan {
  readonly limits: (typeof LIMITS)[number]
  readonly jobs: readonly {
    readonly key: string
    readonly cost: number
    readonly patience: number | undefined
  }[]
  readonly lookAhead: number
  readonly held: 'nothing' | 'paused' | 'frozen' | 'family'
  readonly gated: readonly number[]
  readonly lead: number
  readonly started: readonly number[]
  readonly ended: readonly number[]
  readonly outcomes: readonly number[]
}

const plan: fc.Arbitrary<Plan> = fc.record({
  limits: fc.constantFrom(...LIMITS),
  jobs: fc.array(
    fc.record({
      key: fc.constantFrom(...KEYS),
      cost: fc.integer({ min: 1, max: 3 }),
      patience: fc.option(fc.integer({ min: 1, max: 400 }), { nil: undefined, freq: 5 }),
    }),
    { minLength: 1, maxLength: 30 },
  ),
  lookAhead: fc.integer({ min: 0, max: 600 }),
  held: fc.constantFrom('nothing', 'nothing', 'paused', 'frozen', 'family'),
  gated: asked,
  lead: fc.integer({ min: 0, max: 500_000 }),
  started: asked,
  ended: asked,
  outcomes: fc.array(fc.nat(4), { minLength: 25, maxLength: 25 }),
})

const isGranted = (answer: unknown) => (answer as { kind: string }).kind === 'granted'

/** What workers were answered that asked in calls of `most` each, and what is stored at the end. */
async function played(plan: Plan, most: number) {
  const stage = await RedisStage.open(plan.limits, { openedAt: at(0) })
  const { verbs } = stage.backend
  const said: unknown[] = []
  for (const [n, { key, cost, patience }] of plan.jobs.entries()) {
    await stage.admit(`j${n}`, 0, { key, cost, ...(patience && { deadline: at(patience / 1_000) }) })
  }
  const jobs = await stage.hand(0, plan.lookAhead)
  if (plan.held === 'paused') await verbs.pause('a/1', at(0))
  if (plan.held === 'frozen') await verbs.freeze('a/1', SECOND, at(0))
  if (plan.held === 'family') await verbs.pause('a/', at(0)).catch(() => undefined)
  const inCalls = async <Ask, Answer>(
    asks: readonly Ask[],
    call: (some: Ask[]) => Promise<readonly Answer[]>,
  ) => {
    for (let from = 0; from < asks.length; from += most)
      said.push(...(await call(asks.slice(from, from + most))))
  }
  const own = { worker: 'w', lead: plan.lead, error: 0, lease: 30 * SECOND }
  const gates = pick(jobs, plan.gated).map((job) => ({ ...job, ...own }))
  await inCalls(gates, async (some) => (await verbs.gate(0, some, at(0.1))).answers)
  // Most reports are of starts that were granted.
  const granted = gates.filter((_, n) => isGranted(said[n]))
  const starts = pick(granted.length > 0 ? granted : jobs, plan.started).map((job: HandedJob) => ({
    ...job,
    startedAt: at(0.1),
  }))
  await inCalls(starts, (some) => verbs.start(0, some, at(0.2)))
  const ends = pick(jobs, plan.ended).map((job, n) => ({ ...job, outcome: OUTCOMES[plan.outcomes[n]!]! }))
  await inCalls(ends, (some) => verbs.finish(0, some, at(0.3)))
  await stage.balances()
  const next = await stage.hand(0.4, 200)
  return { said, next, stored: await contents(stage) }
}

/** All that the shaper keeps, but the book, which has times, when it was called last, and how it knows the shard. */
async function contents(stage: RedisStage): Promise<Record<string, unknown>> {
  const { redis, tag } = stage
  const found: Record<string, unknown> = {}
  for (const name of (await redis.keys(`${tag}:*`)).sort()) {
    const part = name.slice(tag.length)
    // Answers of calls, by names drawn by chance.
    if (part.startsWith(':op:')) continue
    const type = await redis.type(name)
    if (type === 'hash') {
      const fields = Object.entries(await redis.hgetallBuffer(name)).map(([field, value]) => [
        field,
        value.toString('latin1'),
      ])
      found[part] = Object.fromEntries(fields.sort(([one], [other]) => (one! < other! ? -1 : 1)))
    } else if (type === 'zset') found[part] = await redis.zrange(name, '0', '-1', 'WITHSCORES')
    else if (type === 'list') found[part] = await redis.lrange(name, 0, -1)
    else found[part] = type
  }
  delete found[':book']
  const { heardAt: _, mark: __, name: ___, ...meta } = found[':meta'] as Record<string, string>
  return { ...found, ':meta': meta }
}

test('what comes in one call is answered and stored as in a call each', async () => {
  await fc.assert(
    fc.asyncProperty(plan, async (given) => {
      expect(await played(given, 25)).toEqual(await played(given, 1))
    }),
    { numRuns: 300, endOnFailure: true },
  )
})
