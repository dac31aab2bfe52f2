import type { JobSeen } from './jobs.ts'
import { exposedIn } from './order.ts'
import type { Testimony } from './testimony.ts'

/**
 * What the line of one key did at some moment between `from` and `to`:
 *
 * | kind   | requires                                       | does                                            |
 * |--------|------------------------------------------------|-------------------------------------------------|
 * | arrive | room for the cost                              | the cost waits                                  |
 * | refuse | no room for the cost                           | nothing                                         |
 * | depart | -                                              | the cost waits no more; the line learns it soon |
 * | back   | -                                              | the cost waits again, whether or not there is room |
 * | leave  | -                                              | the cost waits no more (cancelled, expired)     |
 */
export interface Operation {
  readonly kind: 'arrive' | 'refuse' | 'depart' | 'back' | 'leave'
  readonly id: string
  readonly cost: number
  readonly from: number
  readonly to: number
  /** It may never have happened. */
  readonly isOptional: boolean
  /** Of a departure: until then the line may count the cost as waiting. */
  readonly softUntil: number
  /** Of a departure: the cost had waited. After a fault it may not have come back before. */
  readonly isCounted: boolean
  /** What must have happened before. */
  readonly after: Operation[]
}

const never = Number.POSITIVE_INFINITY

/** The operations of one key, in the order in which they can have begun. */
export function operationsOf(jobs: readonly JobSeen[], testimony: Testimony): Operation[] {
  const arrivals = new Map<string, Operation>()
  const all = jobs.flatMap((job) => operationsOfJob(job, testimony.lag, arrivals))
  const exposed = exposedIn(jobs, testimony)
  const inTurn = jobs
    .filter(({ id, starts, admission }) => starts.length > 0 && admission !== undefined && !exposed.has(id))
    .toSorted((a, b) => a.starts[0]!.at - b.starts[0]!.at)
  // First in, first out: jobs that started in turn had arrived in turn.
  for (const [index, { id }] of inTurn.entries()) {
    const before = arrivals.get(inTurn[index - 1]?.id ?? '')
    if (before !== undefined) arrivals.get(id)!.after.push(before)
  }
  return all.sort((a, b) => a.from - b.from || a.to - b.to)
}

function operationsOfJob(job: JobSeen, lag: number, arrivals: Map<string, Operation>): Operation[] {
  const { id, cost, admission } = job
  const of = (
    kind: Operation['kind'],
    from: number,
    to: number,
    more: Partial<Operation> = {},
  ): Operation => {
    return { kind, id, cost, from, to, isOptional: false, softUntil: 0, isCounted: true, after: [], ...more }
  }
  const refusals = job.admits
    .filter(({ answer }) => answer === 'full')
    .map(({ from, to }) => of('refuse', from, to))
  if (admission === undefined) return refusals
  const { from, to, isCertain } = admission
  const arrival = of('arrive', from, to, { isOptional: !isCertain })
  arrivals.set(id, arrival)
  const chain = [arrival]
  const follow = (operation: Operation) => {
    operation.after.push(chain.at(-1)!)
    chain.push(operation)
  }
  const returns = [...job.returns]
  const end = job.ends[0]
  let waits = true
  for (const [index, start] of job.starts.entries()) {
    const next = job.starts[index + 1]?.at ?? never
    const failed = job.faults.some(
      ({ at, process }) => process === start.process && at >= start.at && at <= next,
    )
    const gone = Math.min(next, end?.seenAt ?? never)
    follow(
      of('depart', start.at, start.at, {
        softUntil: failed ? gone : (start.heardBy ?? start.at + lag),
        isCounted: waits,
      }),
    )
    const back = returns.findIndex(({ seenAt }) => seenAt >= start.at)
    waits = back >= 0 && (returns[back]!.seenAt <= next || !failed)
    if (waits) follow(of('back', start.at, Math.min(returns.splice(back, 1)[0]!.seenAt, next)))
  }
  if (waits && (end?.outcome === 'cancelled' || end?.outcome === 'expired'))
    follow(leaveOf(job, end.seenAt, of))
  return [...refusals, ...chain]
}

function leaveOf(
  { admits, cancels, ends, admission }: JobSeen,
  seenAt: number,
  of: (kind: Operation['kind'], from: number, to: number) => Operation,
): Operation {
  if (ends[0]!.outcome === 'cancelled') {
    const confirmed = cancels.find(({ answer }) => answer === 'true')
    return of('leave', cancels[0]?.from ?? admission!.from, Math.min(seenAt, confirmed?.to ?? never))
  }
  const deadline = admits.find((call) => call.deadline !== undefined)?.deadline ?? 0
  return of('leave', Math.min(admission!.from + deadline, seenAt), seenAt)
}
