import { isTotal } from '../../../src/core/key.ts'
import type { HistoryEvent } from '../../../src/testing.ts'
import { isTurnId } from '../../support/turn-id.ts'
import { longestIntervalOf, parsedLimitOf } from '../actors/limit-of.ts'
import type { Seen } from '../actors/recorder.ts'
import type { Plan } from '../plan/plan.ts'
import { totalsAbove } from '../plan/total-plan.ts'
import { busy, frozenUnheard } from './busy-handlers.ts'
import { travelOf } from './excuses.ts'
import type { Failure } from './judge.ts'
import { type Asking, Rooms } from './rooms.ts'
import { type Circumstances, type Trouble, troublesOf } from './troubles.ts'

/** How late a start may be where nothing is wrong, beside the ways that calls travel; microseconds. */
const USUAL = 1_000_000
/** From the admission of a job until its start; so many ways, one after the other. */
const WAYS = 30
/** After a change of its limit a bucket is due at another time; all schedulers know of it then. Microseconds. */
const RETIMED = 2_000_000

/** What is known of a key, or of a total, while its history is read. Microseconds. */
interface Line {
  /** Jobs that could start, and since when. */
  readonly ready: Map<string, number>
  /** When the next slot comes at the latest. */
  slotAt: number
  interval: number
  /** The longest interval since the last start. */
  slowest: number
  lastStart: number
  lastCost: number
  frozenUntil: number
  isPaused: boolean
  goesOnAt: number
}

/**
 * Judges by virtual time that jobs start in time: a job that is the first in its line and has its slot starts within a second
 * where nothing is wrong, and after a fault within the bound of troubles.ts. A quota or a bound on what runs at once holds it back
 * until there is room, and no longer. Below totals all of that holds for each total, too, and each start of the family is waited for:
 * while a child could go, one of the family does. Jobs with a deadline and turns, which leave
 * their lines by themselves, are not waited for.
 */
export function judgeLiveness(
  known: Circumstances,
  history: readonly HistoryEvent[],
  seen: readonly Seen[],
  /** Nothing is judged from then on: the store has lost what it knew. Microseconds. */
  until: number,
  asking: Asking = { asked: [], recovered: [] },
): Failure[] {
  const { plan } = known
  const troubles = [...troublesOf(known), ...busy(known, seen), ...frozenUnheard(plan, seen)].sort(
    (a, b) => a.from - b.from,
  )
  const troublesOfKey = new Map(
    plan.keys.map(({ key }) => [key, troubles.filter((trouble) => (trouble.key ?? key) === key)]),
  )
  const usual = usualOf(plan)
  const lines = new Map([...plan.keys, ...(plan.totals ?? [])].map((key) => [key.key, lineOf(key)]))
  const above = new Map(
    plan.keys.map(({ key }) => [key, totalsAbove(plan, key).map((total) => lines.get(total)!)] as const),
  )
  /** The keys whose starts the key, or the total, may hold back. */
  const family = (name: string) => {
    const totals = new Set(isTotal(name) ? [lines.get(name)] : above.get(name))
    const others = plan.keys.filter(({ key }) => above.get(key)!.some((total) => totals.has(total)))
    return new Set([...(isTotal(name) ? [] : [name]), ...others.map(({ key }) => key)])
  }
  const keyOf = new Map<string, string>()
  const noted = new Map(seen.map(({ event, by }) => [event, by]))
  const impatient = new Set(plan.jobs.flatMap(({ id, deadline }) => (deadline === undefined ? [] : [id])))
  const failures: Failure[] = []
  const deaths = known.silences.filter(({ isDeath }) => isDeath).toSorted((a, b) => a.from - b.from)
  const runs = new Map<string, Map<string, string>>()
  const rooms = new Rooms(known, seen, asking)

  const lookAt = (key: string, at: number) => {
    const line = lines.get(key)!
    const limits = [line, ...above.get(key)!]
    if (limits.some(({ isPaused }) => isPaused) || line.ready.size === 0) return
    const [id, since] = first(line.ready)
    const slots = limits.map(({ slotAt, frozenUntil, goesOnAt }) => Math.max(slotAt, frozenUntil, goesOnAt))
    const from = rooms.roomFor(key, id, Math.max(since, ...slots))
    if (from === Number.POSITIVE_INFINITY) return
    const latest = latestAfter(from, usual(limits), troublesOfKey.get(key)!)
    if (Math.min(at, until) <= latest.at) return
    failures.push({
      law: 'liveness',
      at: latest.at,
      message:
        `key ${key}: job ${id} could start from ${seconds(from)} on, and had not started at ${seconds(Math.min(at, until))}; ` +
        `expected by ${seconds(latest.at)} (${latest.why})`,
    })
    // One breach is said once.
    line.goesOnAt = at
  }
  const look = (name: string, at: number) => {
    for (const key of family(name)) lookAt(key, at)
  }
  const die = (at: number) => {
    while (deaths[0] !== undefined && deaths[0].from <= at) {
      const { process, from } = deaths.shift()!
      for (const [id, key] of runs.get(process) ?? [])
        if (!impatient.has(id)) lines.get(key)!.ready.set(id, from)
      runs.delete(process)
    }
  }

  let last = 0
  for (const event of history) {
    if (event.at >= until) break
    last = event.at
    die(event.at)
    rooms.until(event.at)
    const key = 'key' in event ? event.key : 'id' in event ? keyOf.get(event.id) : undefined
    const line = key === undefined ? undefined : lines.get(key)
    if (key === undefined || line === undefined) continue
    switch (event.type) {
      case 'answer':
        if (!event.accepted) break
        keyOf.set(event.id, key)
        if (!isTurnId(event.id) && !impatient.has(event.id)) line.ready.set(event.id, event.at)
        break
      case 'start': {
        look(key, event.at)
        line.ready.delete(event.id)
        for (const limited of [line, ...above.get(key)!]) {
          limited.lastStart = event.at
          limited.lastCost = event.cost
          limited.slowest = limited.interval
          // At most half of the slots go to retries, so one may have to wait for the next.
          limited.slotAt = event.at + limited.interval * event.cost
        }
        for (const own of runs.values()) own.delete(event.id)
        const by = noted.get(event)
        if (by === undefined) break
        const own = runs.get(by) ?? new Map<string, string>()
        runs.set(by, own.set(event.id, key))
        break
      }
      case 'return':
      case 'end': {
        look(key, event.at)
        line.ready.delete(event.id)
        for (const own of runs.values()) own.delete(event.id)
        if (event.type === 'end') break
        if (!impatient.has(event.id)) line.ready.set(event.id, Math.max(event.at, event.readyAt))
        if (event.reason === 'freeze') line.frozenUntil = Math.max(line.frozenUntil, event.readyAt)
        break
      }
      case 'freeze':
        look(key, event.at)
        line.frozenUntil = Math.max(line.frozenUntil, event.until)
        break
      case 'unfreeze':
        line.frozenUntil = Math.min(line.frozenUntil, event.at)
        line.goesOnAt = event.at
        break
      case 'pause':
      case 'resume':
        look(key, event.at)
        line.isPaused = event.type === 'pause'
        line.goesOnAt = event.at
        break
      case 'limit':
        look(key, event.at)
        line.interval = longestIntervalOf(event.limit)
        line.slowest = Math.max(line.slowest, line.interval)
        line.slotAt = line.lastStart + line.slowest * line.lastCost
        line.goesOnAt = event.at + RETIMED
        break
    }
    rooms.see(event)
  }
  die(last)
  for (const { key } of plan.keys) lookAt(key, last)
  return failures
}

function lineOf(key: Plan['keys'][number]): Line {
  const interval = longestIntervalOf(parsedLimitOf(key))
  return {
    ready: new Map(),
    slotAt: 0,
    interval,
    slowest: interval,
    lastStart: Number.NEGATIVE_INFINITY,
    lastCost: 0,
    frozenUntil: 0,
    isPaused: false,
    goesOnAt: 0,
  }
}

function usualOf(plan: Plan): (limits: readonly Line[]) => number {
  const costliest = Math.max(1, ...[...plan.jobs, ...plan.turns].map(({ cost }) => cost))
  const computing = Math.max(0, ...plan.jobs.map(({ handler }) => handler.computes))
  const travel = travelOf({ ...plan, faults: [] })
  // A retry takes at most every other slot, and a granted slot that was missed is lost.
  return (limits) => {
    const slowest = limits.reduce((sum, limited) => sum + limited.slowest, 0)
    return USUAL + 2 * slowest * costliest + (WAYS * travel + 20 * computing) * 1_000
  }
}

/** The latest start of a job that can start from `from` on: each trouble that begins before moves it. */
function latestAfter(from: number, usual: number, troubles: readonly Trouble[]) {
  let at = from + usual
  let why = 'nothing was wrong'
  let hasLift = false
  for (const { from: begin, until, bound, adds, what, isLifted = false } of troubles) {
    if (begin > at) break
    if (until + bound + usual <= from) continue
    const moved = Math.max(adds > 0 && !hasLift ? at + adds : at, until + bound + usual)
    if (moved === at) continue
    at = moved
    why = what
    hasLift ||= isLifted
  }
  return { at, why }
}

function first(ready: ReadonlyMap<string, number>): [string, number] {
  let best: [string, number] | undefined
  for (const entry of ready) if (best === undefined || entry[1] < best[1]) best = entry
  return best!
}

function seconds(at: number): string {
  return `${(at / 1e6).toFixed(3)} s`
}
