import { judgeFences } from './carried.ts'
import { judgeDeadlines } from './deadlines.ts'
import { judgeFates } from './fates.ts'
import { type JobSeen, jobsOf } from './jobs.ts'
import { afterLosses, beforeLosses } from './losses.ts'
import { operationsOf } from './operations.ts'
import { judgeOrder } from './order.ts'
import { searchOrder } from './search.ts'
import { judgeSet } from './sets.ts'
import { judgeSpacing } from './spacing.ts'
import { type Bounds, type Finding, ms, type Testimony } from './testimony.ts'
import { judgeTotals } from './totals.ts'

/** States that the search for an order looks at before it gives up. */
const MOST_STATES = 300_000

/** What the second judge has to say. */
export interface Judgement {
  readonly findings: readonly Finding[]
  /** Keys for which the search gave up before it knew. */
  readonly undecided: readonly string[]
}

/**
 * The second judge. It knows nothing of the first but the laws: it asks whether there is an order in which a queue of this capacity
 * could have given these answers within these times, whether jobs left it in the order in which they came, whether starts conform
 * to the rate, to the quotas and to the places, of a key and of a total, and whether each job ended once.
 *
 * Where the store died and may have lost what it had decided, all until then is judged as if it had not; after that each job is
 * excused from what its own losses explain, and the room in the line is judged by the jobs that came later.
 */
export function judgeAgain(testimony: Testimony, mostStates = MOST_STATES): Judgement {
  const { losses, limits } = testimony
  const jobs = jobsOf(testimony)
  const findings = judgeFates(jobs, testimony)
  const undecided: string[] = []
  const before = losses.length === 0 ? undefined : judgeAgain(beforeLosses(testimony), mostStates)
  if (before !== undefined) {
    findings.push(...before.findings)
    undecided.push(...before.undecided)
  }
  findings.push(...judgeTotals(jobs, testimony))
  for (const [key, bounds] of limits) {
    const starts = testimony.starts.filter((start) => start.key === key)
    findings.push(...judgeSpacing(key, starts, bounds), ...judgeFences(key, starts))
    findings.push(...judgeSet(key, starts, bounds, testimony))
    const ofKey = jobs.filter((job) => job.key === key)
    findings.push(...judgeDeadlines(key, ofKey, bounds, testimony))
    const outOfOrder = judgeOrder(key, ofKey, testimony)
    findings.push(...outOfOrder)
    // In the wrong order they cannot fit.
    if (outOfOrder.length > 0) continue
    const whole = before === undefined ? ofKey : afterLosses(ofKey, losses)
    const finding = judgeRoom(key, whole, bounds, testimony, mostStates)
    if (finding === 'undecided') undecided.push(key)
    else if (finding !== undefined) findings.push(finding)
  }
  return { findings: withoutRepetition(findings), undecided: [...new Set(undecided)] }
}

/** What is wrong before a loss is wrong in the whole as well. */
function withoutRepetition(findings: readonly Finding[]): Finding[] {
  const unique = new Map(findings.map((finding) => [`${finding.kind} ${finding.at} ${finding.id}`, finding]))
  return [...unique.values()].sort((a, b) => a.at - b.at)
}

function judgeRoom(
  key: string,
  jobs: readonly JobSeen[],
  { capacity }: Bounds,
  testimony: Testimony,
  mostStates: number,
): Finding | 'undecided' | undefined {
  const result = searchOrder(operationsOf(jobs, testimony), capacity, mostStates)
  if (result.verdict !== 'no order') return result.verdict === 'fits' ? undefined : 'undecided'
  const [first] = result.stuck
  const stuck = result.stuck.map(
    ({ kind, id, cost, from, to }) => `${kind} "${id}" (${cost}) ${ms(from)} to ${ms(to)}`,
  )
  const message =
    `key "${key}": no order of what was seen fits a line of ${capacity} units; with ${result.waiting} waiting and ` +
    `${result.soft} more that may have been counted, none of these can come next: ${stuck.slice(0, 5).join('; ')}`
  return { kind: 'no order fits', at: first?.from ?? 0, key, id: first?.id, message }
}
