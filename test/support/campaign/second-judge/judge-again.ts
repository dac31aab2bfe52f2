import { judgeFates } from './fates.ts'
import { type JobSeen, jobsOf } from './jobs.ts'
import { operationsOf } from './operations.ts'
import { judgeOrder } from './order.ts'
import { searchOrder } from './search.ts'
import { judgeSpacing } from './spacing.ts'
import { type Bounds, type Finding, ms, type Testimony } from './testimony.ts'

/** What the second judge has to say. */
export interface Judgement {
  readonly findings: readonly Finding[]
  /** Keys for which the search gave up before it knew. */
  readonly undecided: readonly string[]
}

/**
 * The second judge. It knows nothing of the first but the laws: it asks whether there is an order in which a queue of this capacity
 * could have given these answers within these times, whether jobs left it in the order in which they came, whether starts conform
 * to the rate, and whether each job ended once.
 */
export function judgeAgain(testimony: Testimony): Judgement {
  const jobs = jobsOf(testimony)
  const findings = judgeFates(jobs, testimony)
  const undecided: string[] = []
  for (const [key, bounds] of testimony.limits) {
    const starts = testimony.starts.filter((start) => start.key === key)
    findings.push(...judgeSpacing(key, starts, bounds))
    if (testimony.isLossy) continue
    const ofKey = jobs.filter((job) => job.key === key)
    const outOfOrder = judgeOrder(key, ofKey, testimony)
    findings.push(...outOfOrder)
    // In the wrong order they cannot fit.
    if (outOfOrder.length > 0) continue
    const finding = judgeRoom(key, ofKey, bounds, testimony)
    if (finding === 'undecided') undecided.push(key)
    else if (finding !== undefined) findings.push(finding)
  }
  return { findings: findings.toSorted((a, b) => a.at - b.at), undecided }
}

function judgeRoom(
  key: string,
  jobs: readonly JobSeen[],
  { capacity }: Bounds,
  testimony: Testimony,
): Finding | 'undecided' | undefined {
  const result = searchOrder(operationsOf(jobs, testimony), capacity)
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
