import type { Redis } from 'ioredis'
import { parseCountedLimit } from '../../src/core/limit.ts'
import { bucketQuerySchema } from '../../src/line/bucket-query.ts'
import { familyQuerySchema } from '../../src/line/family-query.ts'
import { RedisMeterStore } from '../../src/meter/redis-meter-store.ts'
import { PAGE, readBook, writeDraft } from '../../src/redis/rules/book-pages.ts'
import { allScripts } from '../fuzz/scripts/all-scripts.ts'
import { at, request } from '../support/backend-driver.ts'
import { widen } from '../support/deep-line.ts'
import { DEEP_VERBS, type DeepLines, openDeepLines } from '../support/deep-verbs.ts'

/** A line, or a number of buckets, of some size, on a server of the caller's own. */
export interface Grown {
  readonly lines: DeepLines
  readonly meter: RedisMeterStore
  close(): Promise<void>
}

/** The least line in which the verbs for deep lines find jobs to act upon. */
export const SHORTEST_LINE = 3_000
const METER = { name: 'growth', key: 'caller' }
const TURN = '~growth~1'
/** Later than all that the verbs for deep lines do. */
const LATER = 50_000
/** From then on the other buckets are due. */
const DUE = 1_000_000
let clock = DUE

/** A shard whose line of key `a` has so many jobs. */
export async function growLine(url: string, redis: Redis, length: number): Promise<Grown> {
  return grown(url, await openDeepLines(url, redis, length, SHORTEST_LINE))
}

/**
 * The same under a limit of four quotas and places. Each quota has room for what the verbs start, and not for the line, so that a
 * verdict follows the jobs of the line.
 */
export async function growSets(url: string, redis: Redis, length: number): Promise<Grown> {
  const parts =
    ', 2000/hour, 2500 per day, 60000 tokens/hour 25 each, 2800 per day in Europe/Berlin, 500 at once'
  return grown(url, await openDeepLines(url, redis, length, SHORTEST_LINE, { parts, costs: { tokens: 20 } }))
}

/** A shard with so many more buckets, of which each holds a job. */
export async function growBuckets(
  url: string,
  redis: Redis,
  count: number,
  totals: Readonly<Record<string, string>> = {},
): Promise<Grown> {
  const lines = await openDeepLines(url, redis, SHORTEST_LINE, SHORTEST_LINE, { totals })
  const { verbs } = lines.stage.backend
  // After a silence the line brings back what is due far ahead, and that is what these buckets are.
  await lines.stage.recover(lines.clock)
  await verbs.admit(request('more0', { key: 'more/0' }), at(DUE))
  await widen(redis, lines.stage.tag, { key: 'more/', id: 'more', count, now: at(DUE) })
  return grown(url, lines)
}

/** The same, all of them below one total. */
export async function growFamily(url: string, redis: Redis, count: number): Promise<Grown> {
  return growBuckets(url, redis, count, { 'more/': `${100_000_000}, 1000/s` })
}

/** Jobs with data of so many bytes. */
export async function growData(url: string, redis: Redis, bytes: number): Promise<Grown> {
  const data = JSON.stringify('x'.repeat(Math.max(0, bytes - 2)))
  return grown(url, await openDeepLines(url, redis, SHORTEST_LINE, SHORTEST_LINE, { data }))
}

/** A rule book with so many more rules. */
export async function growRules(url: string, redis: Redis, rules: number): Promise<Grown> {
  return grown(url, await openDeepLines(url, redis, SHORTEST_LINE, SHORTEST_LINE, { rules }))
}

async function grown(url: string, lines: DeepLines): Promise<Grown> {
  const meter = new RedisMeterStore({ ...METER, prefix: lines.stage.prefix, connection: url })
  // Connected: what it asks at first must not meet a client that begins to watch.
  await meter.drain(METER)
  return { lines, meter, close: () => meter.close() }
}

type Subject = (grown: Grown) => Promise<unknown>

const list =
  (query: object): Subject =>
  ({ lines: { stage } }) =>
    stage.views.buckets(bucketQuerySchema.parse(query), at(LATER))

const MORE: Readonly<Record<string, Subject>> = {
  'list the fullest': list({ limit: 100 }),
  'list the emptiest of a family': list({ limit: 100, sort: 'fill', prefix: 'more/1' }),
  'list by key': list({ limit: 100, sort: 'key' }),
  'list by waiting': list({ limit: 100, sort: '-oldestWaitMs' }),
  'list the frozen': list({ state: 'frozen' }),
  'show a total': ({ lines: { stage } }) => stage.views.family('more/', at(LATER)),
  'list totals': ({ lines: { stage } }) => stage.views.families(familyQuerySchema.parse({}), at(LATER)),
  'index the fill again': async ({ lines: { stage } }) => {
    const reindex = allScripts().get('reindex')!
    for (const what of ['buckets', 'members']) await stage.backend.store.run(reindex, 0, [what, '0'])
  },
  survey: async ({ lines: { stage } }) => {
    for await (const _ of stage.views.survey());
  },
  tally: ({ lines: { stage } }) => stage.views.tally([[], ['a'], ['more']]),
  flow: ({ lines: { stage } }) => stage.views.flow(at(LATER)),
  'open the line': ({ lines: { stage } }) => stage.backend.open(at(LATER)),
  'read the rule book': ({ lines: { stage } }) => readBook(stage.backend.store),
  'write a rule book of several pages': ({ lines: { stage } }) =>
    writeDraft(stage.backend.store, 0, Buffer.alloc(3 * PAGE, 'x'), at(LATER)),
  time: ({ lines: { stage } }) => stage.backend.store.time(0),
  zones: ({ lines: { stage } }) => stage.backend.store.writeZones(0, ['Europe/Berlin']),
  'are they handed': ({ lines: { stage } }) => stage.backend.verbs.areHanded(0, [{ id: 'a', epoch: 1 }]),
  follow: ({ lines: { stage } }) => stage.follow(1e12, LATER),
  fetch: ({ lines: { stage } }) => stage.backend.verbs.fetch(0, [{ id: 'a', epoch: 1 }]),
  resign: ({ lines: { stage } }) => stage.backend.verbs.resign(0, 's1'),
  'take a turn and leave': async ({ lines: { stage } }) => {
    await stage.backend.verbs.admit(
      { ...request(TURN, { key: 'a', isTurn: true }), deadline: 1e9 },
      at(LATER),
    )
    await stage.backend.verbs.leave(TURN, at(LATER))
  },
  'fill a meter': async ({ meter }) => {
    const amount = { amount: 1, capacity: 9, interval: 1e6, clamp: false, block: 0 }
    await meter.fill({ ...METER, ...amount }, at(0))
    await meter.read(METER, at(0))
    const { quotas } = parseCountedLimit('9, 1/s, 5/h, 9 tokens per day in UTC 1 each')
    await meter.quotas.fill({ ...METER, ...amount, quotas, charges: [1, 1] }, at(0))
    await meter.quotas.read(METER, at(0))
    await meter.drain(METER)
  },
  'hand over where all buckets are due': ({ lines: { stage } }) =>
    stage.backend.verbs.claim(0, { scheduler: 's1', lookAhead: 0, most: 200, lease: 1e6 }, at(clock++)),
}

/** Everything that is done to a line, any number of times, whatever its size: each script is called by one of them. */
export const SUBJECTS: Readonly<Record<string, Subject>> = {
  ...Object.fromEntries(
    Object.entries(DEEP_VERBS).map(([name, verb]): [string, Subject] => [name, ({ lines }) => verb(lines)]),
  ),
  ...MORE,
}
