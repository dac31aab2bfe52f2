import type { Redis } from 'ioredis'
import { parseCountedLimit } from '../../../src/core/limit.ts'
import { parseRule } from '../../../src/core/rule-book.ts'
import { bucketQuerySchema } from '../../../src/line/bucket-query.ts'
import { familyQuerySchema } from '../../../src/line/family-query.ts'
import { writeDraft } from '../../../src/redis/rules/book-pages.ts'
import { linesDuring, readLine } from '../../bounds/monitor.ts'
import { COMPLETED } from '../../conformance/redis-stage.ts'
import { at, request, TURN_CALLER } from '../../support/backend-driver.ts'
import { allScripts } from './all-scripts.ts'
import { type BusyShard, METER, NOW } from './busy-shard.ts'
import type { Snapshot } from './snapshot.ts'

/** One call of a script, as this package makes it. */
export interface SampleCall {
  readonly verb: string
  readonly sha: string
  readonly keys: readonly string[]
  readonly values: readonly string[]
}

const now = at(NOW)
const worker = { worker: 'w1', lead: 0, error: 0, lease: 30_000_000 }

/** Ways to call scripts below totals. */
const FAMILY_WAYS: readonly ((shard: BusyShard) => unknown)[] = [
  ({ stage }) =>
    stage.backend.verbs.admitMany(
      ['kin/1', 'kin/x/1', 'kin/new'].map((key) => request(`new ${key}`, { key })),
      now,
    ),
  ({ stage }) => stage.backend.verbs.forecast('kin/x/1', 2, now),
  ({ stage }) => stage.backend.verbs.cancel('kin/x/1 2', now),
  ({ stage }) => stage.backend.verbs.freeze('kin/x/', 1_000_000, now),
  ({ stage }) => stage.backend.verbs.pause('kin/', now),
  ({ stage }) => stage.backend.rules.change({ kind: 'set', rule: parseRule('kin/', '30, 10/s') }, now),
  ({ stage }) => stage.views.inspect('kin/x/1', now),
  ({ stage }) => stage.views.facts('kin/1 2', now),
]

/** Ways to call scripts where quotas and places count. */
const SET_WAYS: readonly ((shard: BusyShard) => unknown)[] = [
  ({ stage }) => {
    const asked = [
      request('new1', { key: 'sets', costs: { tokens: 30 } }),
      request('new2', { key: 'sets', cost: 3 }),
      request('new3', { key: 'counted', costs: { tokens: 800 }, deadline: 5_000_000 }),
      request('new4', { key: 'places', deadline: 5_000_000 }),
    ]
    return stage.backend.verbs.admitMany(asked, now)
  },
  ({ stage }) => stage.backend.verbs.admit({ ...request('new1', { key: 'sets', cost: 15 }) }, now),
  ({ stage }) => stage.backend.verbs.forecast('sets', 2, now, { tokens: 80 }),
  ({ stage }) => stage.backend.verbs.cancel('set4', now),
  ({ stage }) => stage.backend.verbs.freeze('sets', 1_000_000, now),
  ({ stage }) => stage.backend.verbs.resume('counted', now),
  ({ stage, jobs }) => stage.backend.verbs.start(0, [{ ...jobs.slotInSet, startedAt: at(4.74) }], at(4.8)),
  ({ stage, jobs }) => stage.backend.verbs.finish(0, [{ ...jobs.inSet, outcome: COMPLETED }], at(4.8)),
  ({ stage, jobs }) => {
    const outcome = { kind: 'retry', error: 'no', delay: 1_000_000 } as const
    const reports = [
      { ...jobs.slotInSet, startedAt: at(4.74), outcome },
      { ...jobs.inSet, outcome },
    ]
    return stage.backend.verbs.finish(0, reports, at(4.8))
  },
  ({ stage, jobs }) => stage.backend.verbs.gate(0, [{ ...jobs.counted, ...worker }], at(5.3)),
  ({ stage, jobs }) => {
    const outcome = { kind: 'back', worker: 'w1', delay: 1_000_000 } as const
    return stage.backend.verbs.finish(0, [{ ...jobs.counted, outcome }], at(5.3))
  },
  ({ stage }) =>
    stage.backend.verbs.settleRunning({ id: 'set1', key: 'sets', amounts: { tokens: 70 } }, at(4.8)),
  ({ stage }) => {
    const ended = { cost: 1, charged: 'tokens 40 1' }
    const turn = { id: `~${TURN_CALLER}~8`, key: 'sets', fence: 7, startedAt: at(4.6), ended }
    return stage.backend.verbs.settle({ ...turn, amounts: { tokens: 20 } }, at(4.8))
  },
  ({ stage }) => stage.views.job('set5', now),
  ({ stage }) => stage.views.inspect('sets', now),
  ({ stage }) => stage.views.facts('set6', now),
  ({ stage }) => stage.views.facts('place1', now),
  ({ stage }) => stage.views.line('sets', 50, now),
]

/** Every way in which scripts are called; each from the same state. */
const WAYS: readonly ((shard: BusyShard) => unknown)[] = [
  ...SET_WAYS,
  ...FAMILY_WAYS,
  ({ stage }) => stage.backend.verbs.admit({ ...request('new1'), deadline: 5_000_000 }, now),
  ({ stage }) => {
    const asked = [
      request('new1', { key: 'warm', cost: 2 }),
      request('new2', { key: 'fresh/x' }),
      request('waits'),
      request('new3', { data: `"${'y'.repeat(5_000)}"` }),
    ]
    return stage.backend.verbs.admitMany(asked, now)
  },
  ({ stage }) =>
    stage.backend.verbs.admit(
      { ...request(`~${TURN_CALLER}~9`, { key: 'turns', isTurn: true }), deadline: 0 },
      now,
    ),
  ({ stage }) => stage.backend.verbs.forecast('a', 2, now),
  ({ stage }) => stage.backend.verbs.cancel('waits', now),
  ({ stage }) => stage.backend.verbs.leave(`~${TURN_CALLER}~2`, now),
  ({ stage }) => stage.backend.verbs.freeze('a', 1_000_000, now),
  ({ stage }) => stage.backend.verbs.unfreeze('cold', now),
  ({ stage }) => stage.backend.verbs.pause('new', now),
  ({ stage }) => stage.backend.verbs.resume('paused', now),
  ({ stage }) => stage.claim(NOW, { lookAhead: 50_000 }),
  ({ stage }) => stage.backend.verbs.expire(0, at(2_000)),
  ({ stage }) => stage.backend.verbs.recover(0, {}, at(12)),
  ({ stage }) => stage.backend.verbs.resign(0, 's1'),
  ({ stage, jobs }) => stage.backend.verbs.fetch(0, [jobs.large, jobs.handed]),
  ({ stage }) => stage.follow(0, 5.3, { key: 'fast' }),
  ({ stage, jobs }) => stage.backend.verbs.gate(0, [{ ...jobs.follows, ...worker }], at(5.3)),
  ({ stage, jobs }) => stage.backend.verbs.start(0, [{ ...jobs.follows, startedAt: at(5.22) }], at(5.3)),
  ({ stage }) => stage.follow(9e15, 5.3, { key: 'fast', most: 3 }),
  ({ stage, jobs }) => stage.backend.verbs.gate(0, [{ ...jobs.handed, ...worker }], at(5.3)),
  ({ stage, jobs: { handed, granted, large } }) =>
    stage.backend.verbs.gate(
      0,
      [
        { ...granted, ...worker, missed: at(5.2) },
        { ...handed, ...worker },
        { ...large, ...worker, hasData: true },
      ],
      at(5.3),
    ),
  ({ stage, jobs }) => stage.backend.verbs.start(0, [{ ...jobs.granted, startedAt: at(5.21) }], at(5.3)),
  ({ stage, jobs }) =>
    stage.backend.verbs.start(
      0,
      [
        { ...jobs.granted, startedAt: at(5.21) },
        { ...jobs.running, startedAt: at(4.3) },
      ],
      at(5.3),
    ),
  ({ stage, jobs }) => stage.backend.verbs.finish(0, [{ ...jobs.running, outcome: COMPLETED }], now),
  ({ stage, jobs }) =>
    stage.backend.verbs.finish(
      0,
      [
        { ...jobs.running, outcome: { kind: 'completed', result: '{"a":1}' } },
        { ...jobs.granted, startedAt: at(5.21), outcome: { kind: 'retry', error: 'no', delay: 1_000_000 } },
      ],
      at(5.3),
    ),
  ({ stage, jobs }) =>
    stage.backend.verbs.finish(
      0,
      [
        { ...jobs.granted, startedAt: at(5.21), outcome: { kind: 'freeze', duration: 1_000 } },
        { ...jobs.handed, outcome: { kind: 'back', worker: 'w1', delay: 1_000_000 } },
      ],
      at(5.3),
    ),
  ({ stage, jobs }) =>
    stage.backend.verbs.finish(0, [{ ...jobs.running, outcome: { kind: 'failed', error: 'no' } }], now),
  ({ stage, jobs }) =>
    stage.backend.verbs.renew(
      0,
      [jobs.handed, jobs.granted, jobs.running, { id: `~${TURN_CALLER}~2`, epoch: 0 }],
      30_000_000,
      now,
    ),
  ({ stage }) =>
    stage.backend.verbs.settle(
      { id: 'running', key: 'a', fence: 1, startedAt: at(4.3), amounts: { tokens: 5, images: 0 } },
      now,
    ),
  ({ stage }) =>
    stage.backend.verbs.settleRunning(
      { id: 'running', key: 'a', which: { attempt: 9 }, amounts: { tokens: 5 } },
      now,
    ),
  ({ stage, jobs }) => stage.backend.verbs.areHanded(0, [jobs.handed, jobs.running]),
  ({ stage }) => stage.backend.verbs.quarantine(0, now),
  ({ stage }) => stage.backend.verbs.quarantine(0, now, 'step', 100_000),
  ({ stage }) => stage.backend.verbs.quarantine(0, now, 'loss'),
  ({ stage }) => stage.backend.rules.change({ kind: 'set', rule: parseRule('a', '7, 2/s') }, now),
  ({ stage }) =>
    stage.backend.rules.change(
      { kind: 'set', rule: parseRule('sets', '9, 5/s, 4 per 8 seconds, 3 at once') },
      now,
    ),
  ({ stage }) => stage.backend.open(now),
  ({ stage }) => writeDraft(stage.backend.store, 0, Buffer.from('{"schema":3,'), now),
  ({ stage }) => stage.backend.store.time(0),
  ({ stage }) => stage.backend.store.writeZones(0, ['Europe/Berlin'], { now }),
  ({ stage }) => stage.views.job('waits', now),
  ({ stage }) => stage.views.inspect('a', now),
  ({ stage }) => stage.views.family('kin/', now),
  ({ stage }) => stage.views.families(familyQuerySchema.parse({}), now),
  ...['-fill', 'fill', 'key', '-waiting', 'oldestWaitMs', 'nextDepartureAt'].map(
    (sort): ((shard: BusyShard) => unknown) =>
      ({ stage }) =>
        stage.views.buckets(bucketQuerySchema.parse({ sort }), now),
  ),
  ({ stage }) =>
    stage.views.buckets(bucketQuerySchema.parse({ prefix: 'w', state: 'waiting', minFill: 0.01 }), now),
  ({ stage }) => stage.views.audit(),
  ({ stage }) => stage.views.tally([[], ['a', 'warm']]),
  async ({ stage }) => {
    for await (const _ of stage.views.survey());
    for await (const _ of stage.views.surveyFamilies());
  },
  ({ stage }) => stage.views.facts('dear', now),
  ({ stage }) => stage.views.line('a', 50, now),
  ({ stage }) => stage.views.flow(now),
  ({ stage }) => stage.views.recent('a', now),
  // A line of an older version has no index by fill.
  async ({ stage }) => {
    await stage.redis.del(`${stage.tag}:fill`)
    await stage.views.buckets(bucketQuerySchema.parse({}), now)
  },
  ({ meter }) =>
    meter.fill({ ...METER, amount: 2, capacity: 9, interval: 1e6, clamp: true, block: 1e6 }, now),
  ({ meter }) => meter.read(METER, now),
  ({ meter }) => {
    const { quotas } = parseCountedLimit('9, 1/s, 5/h, 9 tokens per day in UTC 1 each')
    const bucket = { amount: 1, capacity: 9, interval: 1e6, clamp: false, block: 0 }
    return meter.quotas.fill({ ...METER, ...bucket, quotas, charges: [1, 1] }, now)
  },
  ({ meter }) => meter.quotas.read(METER, now),
  ({ meter }) => meter.drain(METER),
]

/** Makes each call from the state of the snapshot, and notes what reached Redis. At least one call of every script. */
export async function sampleCalls(shard: BusyShard, redis: Redis, snapshot: Snapshot): Promise<SampleCall[]> {
  const scripts = allScripts()
  const bySha = new Map([...scripts].map(([verb, { sha }]) => [sha, verb]))
  // Scripts are sent whole once, and by their hash from then on.
  for (const { text } of scripts.values()) await redis.script('LOAD', text)
  const lines = await linesDuring(redis, async () => {
    for (const way of WAYS) {
      await snapshot.restore()
      await way(shard)
    }
  })
  await snapshot.restore()
  const calls = lines.flatMap((line): SampleCall[] => {
    const { isOfScript, words } = readLine(line)
    const [command = '', sha = '', count, ...rest] = words.map((word) =>
      Buffer.from(word, 'latin1').toString(),
    )
    const verb = bySha.get(sha)
    if (isOfScript || command.toLowerCase() !== 'evalsha' || verb === undefined) return []
    return [{ verb, sha, keys: rest.slice(0, Number(count)), values: rest.slice(Number(count)) }]
  })
  const missing = [...scripts.keys()].filter((verb) => calls.every((call) => call.verb !== verb))
  if (missing.length > 0) throw new Error(`no sample call of these scripts: ${missing.join(', ')}`)
  return calls
}
