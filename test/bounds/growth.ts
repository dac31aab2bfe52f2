import { Redis } from 'ioredis'
import type { Script } from '../../src/redis/scripts/script.ts'
import { allScripts } from '../fuzz/scripts/all-scripts.ts'
import { startRedis } from '../support/redis-server.ts'
import { exponentOf, type Measured } from './exponent.ts'
import { inShortPasses } from './short-passes.ts'
import { type Grown, SUBJECTS } from './subjects.ts'
import { type Cost, EntryCounter, LOGGED, LOGS_CALLS, timesDuring } from './work.ts'

export type Grow = (url: string, redis: Redis, size: number) => Promise<Grown>

type Measure = 'entries' | 'bytes' | 'us'

/** What one script cost at each size: its costliest call, in the cheapest of several tries. */
export interface Growth extends Readonly<Record<Measure, readonly Measured[]>> {
  readonly verb: string
  readonly exponents: Readonly<Record<Measure, number>>
}

/**
 * The scripts' own bounds: up to so much, what a call does depends on what happens to stand in the line, such as retries, and
 * not on its length.
 */
const LITTLE: Readonly<Record<Measure, number>> = { entries: 400, bytes: 4_096, us: 400 }

/** How often the long run times a subject. */
export const TRIES = 7

/** How often a subject is called then: once more, to be counted. */
export const callsOf = (tries: number) => 1 + tries

/** Of a subject that goes through all buckets, one run tells as much as seven. */
const MANY_CALLS = 500

type Costs = Readonly<Record<Measure, Map<string, number>>>

export interface GrowthOptions {
  readonly sizes: readonly number[]
  /** How often each subject is timed; 0: not at all. */
  readonly tries: number
  /** So many bytes count as little, because what has more of them goes by pages. Default: 4 KiB. */
  readonly pageBytes?: number
}

/** Measures every script at every size, each size on a server of its own. */
export async function measureGrowth(
  grow: Grow,
  { sizes, tries, pageBytes = LITTLE.bytes }: GrowthOptions,
): Promise<Growth[]> {
  const scripts = allScripts()
  const bySize = new Map<number, Costs>()
  for (const size of sizes) bySize.set(size, await costsAt(size, grow, scripts, tries))
  return [...scripts.keys()].sort().map((verb) => growthOf(verb, bySize, { ...LITTLE, bytes: pageBytes }))
}

type Scripts = ReturnType<typeof allScripts>

async function costsAt(size: number, grow: Grow, scripts: Scripts, tries: number): Promise<Costs> {
  await using server = await startRedis({ config: LOGS_CALLS })
  const redis = new Redis(server.url)
  let grown: Grown | undefined
  try {
    grown = await grow(server.url, redis, size)
    // What is called with its text is not counted.
    for (const { text } of scripts.values()) await redis.script('LOAD', text)
    const costs: Costs = { entries: new Map(), bytes: new Map(), us: new Map() }
    for (const subject of Object.values(SUBJECTS)) {
      const act = () => inShortPasses(size, () => subject(grown!))
      raise(costs.us, cheapest(await runsOf(act, { redis, scripts, tries })))
      const works = await new EntryCounter(redis, scripts).during(act)
      // What is not logged is faster than that.
      if (tries > 0) raise(costs.us, new Map(works.map(({ verb }) => [verb, LOGGED])))
      raise(costs.entries, costliest(works))
      raise(costs.bytes, costliest(works.map(({ verb, bytes }) => ({ verb, cost: bytes }))))
    }
    return costs
  } finally {
    // Before the server: a client that loses it would look for it until the end of the process.
    await grown?.close()
    redis.disconnect()
  }
}

interface Timing {
  readonly redis: Redis
  readonly scripts: ReadonlyMap<string, Pick<Script, 'sha'>>
  readonly tries: number
}

/** What is typical of several runs, or of as many as it takes for many calls: in those the system cannot disturb most. */
export async function runsOf(
  act: () => Promise<unknown>,
  { redis, scripts, tries }: Timing,
): Promise<ReadonlyMap<string, number>[]> {
  const runs: Map<string, number>[] = []
  for (let [run, calls] = [0, 0]; run < tries && calls < MANY_CALLS; run++) {
    const times = await timesDuring(redis, scripts, act)
    calls += times.length
    runs.push(typical(times))
  }
  return runs
}

/** A subject may call a script many times. On a busy machine one of many calls is always interrupted: the median counts. */
function typical(costs: readonly Cost[]): Map<string, number> {
  const byVerb = new Map<string, number[]>()
  for (const { verb, cost } of costs) byVerb.set(verb, [...(byVerb.get(verb) ?? []), cost])
  return new Map(
    [...byVerb].map(([verb, calls]) => {
      const sorted = calls.toSorted((one, other) => one - other)
      return [verb, sorted[Math.floor(sorted.length / 2)]!]
    }),
  )
}

/** The costliest call counts. */
function costliest(costs: readonly Cost[]): Map<string, number> {
  const found = new Map<string, number>()
  for (const { verb, cost } of costs) found.set(verb, Math.max(found.get(verb) ?? 0, cost))
  return found
}

/** Of several runs: the system may take the processor away from Redis in some of them. */
function cheapest(runs: readonly ReadonlyMap<string, number>[]): Map<string, number> {
  const found = new Map<string, number>()
  for (const run of runs)
    for (const [verb, cost] of run) found.set(verb, Math.min(found.get(verb) ?? cost, cost))
  return found
}

function raise(known: Map<string, number>, found: ReadonlyMap<string, number>): void {
  for (const [verb, cost] of found) known.set(verb, Math.max(known.get(verb) ?? 0, cost))
}

function growthOf(verb: string, bySize: ReadonlyMap<number, Costs>, little: typeof LITTLE): Growth {
  const measured = (name: keyof Costs): Measured[] =>
    [...bySize].flatMap(([size, costs]) => {
      const cost = costs[name].get(verb)
      return cost === undefined ? [] : [[size, cost] as const]
    })
  const [entries, bytes, us] = [measured('entries'), measured('bytes'), measured('us')]
  const fit = (name: Measure, measured: readonly Measured[]) =>
    exponentOf(measured.map(([size, cost]) => [size, Math.max(cost, little[name])] as const))
  const exponents = { entries: fit('entries', entries), bytes: fit('bytes', bytes), us: fit('us', us) }
  return { verb, entries, bytes, us, exponents }
}

/** A table of all scripts, the one that grows most first. */
export function tableOf(growths: readonly Growth[]): string {
  const rows = growths
    .toSorted((one, other) => other.exponents.us - one.exponents.us)
    .map(({ verb, entries, bytes, us, exponents }) => {
      const costs = us.map(
        ([size, cost], index) =>
          `${size}: ${Math.round(cost)} us, ${entries[index]![1]}, ${bytes[index]![1]} B`,
      )
      const fitted = [exponents.us, exponents.entries, exponents.bytes]
      return [verb.padEnd(12), ...fitted.map((e) => e.toFixed(2).padStart(9)), '  ', costs.join(' | ')].join(
        ' ',
      )
    })
  return ['script            us^e entries^e   bytes^e    at each size', ...rows].join('\n')
}
