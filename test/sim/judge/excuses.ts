import type { HistoryEvent } from '../../../src/testing.ts'
import type { Silence } from '../actors/faults.ts'
import type { Seen } from '../actors/recorder.ts'
import { intervalOf, type Plan } from '../plan/plan.ts'

/** How long before its slot a job may be handed over; milliseconds. */
const FARTHEST_LOOK_AHEAD = 250
/** Jobs of a key that may have left the line while a process dies. */
const STARTING = 2
/** For so long a silent process keeps its turns; milliseconds. */
const TURN_LEASE = 5_000
/** How long a process may take to be connected again and to renew its leases, when nothing is in its way; milliseconds. */
const RECONNECTS = 3_500
/** Leases from here on survive an outage that is shorter than the one that lifts them; milliseconds. */
const SAFE_LEASE = 5_000
/** Silences that are no further apart count as one; microseconds. */
const APART = 4_000_000

/**
 * What the promises except: a process died, or was not heard of for longer than its leases last. What it ran may start once
 * more, and what it held may lose its place.
 */
export function excuses(
  plan: Plan,
  silences: readonly Silence[],
  seen: readonly Seen[],
  leaving: ReadonlySet<string>,
): HistoryEvent[] {
  const names = new Set(silences.map(({ process }) => process))
  return [...names].flatMap((name) => {
    const lease = leaseOf(plan, name)
    if (lease === undefined) return []
    const own = joined(silences.filter(({ process }) => process === name)).filter((silence) =>
      isExcused(silence, lease, leaving.has(name)),
    )
    const runs = runsOf(seen.filter(({ by }) => by === name))
    return own.flatMap((silence) => [...faultsOf(silence, runs), ...crashesOf(plan, silence, lease)])
  })
}

/** For how long the process may be silent; undefined: it holds nothing. */
function leaseOf({ workers, callers }: Plan, name: string): number | undefined {
  const [, role, number] = /^(\w+)-(\d+)/.exec(name) ?? []
  if (role === 'worker') return workers[Number(number) - 1]!.lease
  return role === 'caller' && callers > 0 ? TURN_LEASE : undefined
}

function joined(silences: readonly Silence[]): Silence[] {
  const result: Silence[] = []
  for (const silence of silences.toSorted((a, b) => a.from - b.from)) {
    const last = result.at(-1)
    if (last === undefined || last.isDeath || silence.isDeath || silence.from - last.until > APART) {
      result.push(silence)
      continue
    }
    const cause = last.cause === silence.cause ? last.cause : 'its link'
    result[result.length - 1] = { ...last, until: Math.max(last.until, silence.until), cause }
  }
  return result
}

function isExcused({ from, until, isDeath, cause }: Silence, lease: number, isLeaving: boolean): boolean {
  const length = (until - from) / 1_000
  // Leases are renewed after each third of their length.
  const left = (lease * 2) / 3
  if (isDeath) return true
  if (cause === 'itself') return length >= left - 300
  // A process that closes while the store is away does not wait for it beyond its leases.
  return (cause === 'its link' || lease < SAFE_LEASE || isLeaving) && length >= left - RECONNECTS
}

interface Run {
  readonly id: string
  readonly from: number
  until: number
}

/** What the process ran, as far as it knew. */
function runsOf(seen: readonly Seen[]): Run[] {
  const runs: Run[] = []
  const open = new Map<string, Run>()
  for (const { event } of seen) {
    if (event.type === 'start') {
      const run = { id: event.id, from: event.at, until: Number.POSITIVE_INFINITY }
      open.set(event.id, run)
      runs.push(run)
    }
    if (event.type !== 'end' && event.type !== 'return') continue
    const run = open.get(event.id)
    if (run !== undefined) run.until = event.at
    open.delete(event.id)
  }
  return runs
}

function faultsOf({ from, until, isDeath }: Silence, runs: readonly Run[]): HistoryEvent[] {
  const over = isDeath ? until : until + RECONNECTS * 1_000
  return runs
    .filter((run) => run.from <= over && run.until >= from)
    .map((run) => ({ type: 'fault', at: Math.max(from, run.from) + 0.001, id: run.id }))
}

/** What it held changes while it is silent: each time that a lease can have ended counts. */
function crashesOf({ keys }: Plan, { from, until }: Silence, lease: number): HistoryEvent[] {
  const shortest = Math.min(...keys.map(intervalOf))
  const handed = Math.ceil(FARTHEST_LOOK_AHEAD / shortest) + STARTING
  const crashes: HistoryEvent[] = []
  for (let at = from; at < until + lease * 500; at += lease * 500) crashes.push({ type: 'crash', at, handed })
  return crashes
}
