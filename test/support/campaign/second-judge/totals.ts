import { GRANTED_AHEAD } from '../history-file.ts'
import type { JobSeen } from './jobs.ts'
import { afterLosses } from './losses.ts'
import { judgeSet } from './sets.ts'
import { judgeSpacing } from './spacing.ts'
import { type Bounds, type Call, type Finding, ms, type Testimony } from './testimony.ts'

const never = Number.POSITIVE_INFINITY
/** A child may grow to so many times the room that its family leaves. */
const SHARE_OF_ROOM = 4

/**
 * Totals: the sum of a family keeps the rate, the quotas and the places as a key does, by all starts below it; no more wait there
 * than its capacity, and it refuses only what has no room. How fairly it is shared is not judged here.
 */
export function judgeTotals(jobs: readonly JobSeen[], testimony: Testimony): Finding[] {
  const { totals = new Map<string, Bounds>(), losses } = testimony
  return [...totals].flatMap(([path, bounds]) => {
    const starts = testimony.starts.filter(({ key }) => isBelow(key, path))
    const family = jobs.filter(({ key }) => isBelow(key, path))
    const known = losses.length === 0 ? family : afterLosses(family, losses)
    return [
      // The next start of a key waits for one that is too late; others of the family have their slots.
      ...judgeSpacing(
        path,
        starts.filter(({ missedSlot }) => missedSlot !== true),
        bounds,
      ),
      ...judgeSet(path, starts, bounds, testimony),
      ...judgeSum(path, known, bounds),
      ...(losses.length === 0 ? judgeRefusals(path, family, bounds, testimony) : []),
    ]
  })
}

/** Whether a key, or another total, is of the family. */
export function isBelow(name: string, path: string): boolean {
  return name !== path && (name.startsWith(path) || `${name}/` === path)
}

/** At each answer: what surely had been admitted and surely had not left. A retry may come on top, and is not counted. */
function judgeSum(path: string, jobs: readonly JobSeen[], { capacity }: Bounds): Finding[] {
  const spans = jobs.flatMap((job) => {
    const { id, cost, admission } = job
    const span = { id, cost, from: admission?.to ?? never, until: mayLeave(job) }
    return span.from < span.until ? [span] : []
  })
  const moments = spans
    .flatMap(({ id, cost, from, until }) => [
      { at: from, id, units: cost },
      { at: until, id, units: -cost },
    ])
    .sort((a, b) => a.at - b.at || a.units - b.units)
  let waiting = 0
  for (const { at, id, units } of moments) {
    waiting += units
    if (waiting <= capacity) continue
    const message = `total "${path}": with "${id}" at ${ms(at)}, ${waiting} units waited below it, and it holds ${capacity}`
    return [{ kind: 'too many wait', at, key: path, id, message }]
  }
  return []
}

/** When a job that was admitted may have left its line for the first time, at the earliest. */
function mayLeave({ admission, admits, cancels, starts, ends }: JobSeen): number {
  const deadline = admits.find((call) => call.deadline !== undefined)?.deadline ?? never
  const expires = (admission?.from ?? never) + deadline - GRANTED_AHEAD
  const [started, asked, ended] = [starts[0]?.at, cancels[0]?.from, ends[0]?.seenAt]
  return Math.min(expires, started ?? never, asked ?? never, ended ?? never)
}

/** What was refused for want of room, though there was some even if all waited that can have waited. */
function judgeRefusals(
  path: string,
  jobs: readonly JobSeen[],
  { capacity }: Bounds,
  testimony: Testimony,
): Finding[] {
  return jobs.flatMap((job) =>
    job.admits.flatMap((call): Finding[] => {
      if (call.answer !== `full at ${path}`) return []
      const others = jobs.filter((other) => other.id !== job.id && mayWait(other, call, testimony))
      const child = childOf(call.key, path, testimony)
      const ofChild = others.filter(({ key }) => key === child || isBelow(key, child))
      const room = capacity - unitsOf(others)
      if (call.cost > room || unitsOf(ofChild) + call.cost > SHARE_OF_ROOM * room) return []
      const message =
        `total "${path}": "${job.id}" (${call.cost}) was refused between ${ms(call.from)} and ${ms(call.to)}, and at most ` +
        `${capacity - room} of ${capacity} units waited below it, ${unitsOf(ofChild)} of them in "${child}"`
      return [{ kind: 'refused with room', at: call.to, key: path, id: job.id, message }]
    }),
  )
}

/** Of the total right below it that has the key, else the key. */
function childOf(key: string, path: string, { totals = new Map() }: Testimony): string {
  const between = [...totals.keys()].filter((other) => isBelow(other, path) && isBelow(key, other))
  return between.sort((a, b) => a.length - b.length)[0] ?? key
}

/** Whether the line can have counted the job at some moment of the call. */
function mayWait({ admission, starts, returns, faults, ends }: JobSeen, call: Call, { lag }: Testimony) {
  if (admission === undefined || admission.from > call.to) return false
  const last = starts.at(-1)
  const ended = ends[0]?.seenAt ?? never
  if (last === undefined) return ended >= call.from
  const isBack = [...returns.map(({ seenAt }) => seenAt), ...faults.map(({ at }) => at)].some(
    (at) => at >= last.at,
  )
  return (isBack ? ended : (last.heardBy ?? last.at + lag)) >= call.from
}

function unitsOf(jobs: readonly JobSeen[]): number {
  return jobs.reduce((sum, { cost }) => sum + cost, 0)
}
