import { GRANTED_AHEAD, type Loss } from '../history-file.ts'
import type { JobSeen } from './jobs.ts'
import type { Call, Start, Testimony } from './testimony.ts'

/** While the store is away, what a process held when it died is held up as well; microseconds. */
const EVERY = 200_000
/** Jobs at the head of a line that may have been handed over when the store died. */
const HANDED = 15
/** No handler of a campaign runs for longer; microseconds. */
const LONGEST = 1_500_000

/** Whether something that happened at some moment between these may be lost. */
function mayBeLost(losses: readonly Loss[], from: number, to: number): boolean {
  return losses.some((loss) => from <= loss.to && to >= loss.from)
}

/** That the job was admitted may be lost: then it has no end. */
export function mayBeGone({ admission }: JobSeen, losses: readonly Loss[]): boolean {
  return admission !== undefined && mayBeLost(losses, admission.from, admission.to)
}

/** That the job had ended may be lost: then it may start again, and end again. */
export function mayHaveForgottenEnd({ starts, ends, admission }: JobSeen, losses: readonly Loss[]): boolean {
  const [end] = ends
  if (end === undefined) return false
  const before = starts.findLast(({ at }) => at <= end.seenAt)
  return mayBeLost(losses, before?.at ?? admission?.from ?? end.seenAt, end.seenAt)
}

/** That this start had happened, or had come to its end before the next, may be lost. */
export function mayHaveForgotten(
  { admission }: JobSeen,
  start: Start,
  next: Start,
  losses: readonly Loss[],
): boolean {
  const since = admission?.from ?? Number.NEGATIVE_INFINITY
  return losses.some(
    ({ from, at, to }) =>
      start.at >= from - LONGEST && start.at <= to + GRANTED_AHEAD && next.at > at && since <= at,
  )
}

export function mayHaveForgottenCall({ from, to }: Call, losses: readonly Loss[]): boolean {
  return mayBeLost(losses, from, to)
}

/** What the line had handed over when the store died may lose its place. */
export function crashesOf(losses: readonly Loss[]): Testimony['crashes'] {
  return losses.flatMap(({ from, at, to }) => {
    const first = Math.max(from, at - 10_000_000)
    const moments = Array.from({ length: Math.floor((to - first) / EVERY) + 1 }, (_, n) => first + n * EVERY)
    return [...moments, at, to].map((moment) => ({ at: moment, handed: HANDED }))
  })
}

/** When the first call was made that had no answer when the store died. */
export function unansweredFrom({ calls, losses }: Testimony): number {
  const died = Math.min(...losses.map(({ at }) => at))
  return Math.min(...calls.filter(({ from, to }) => from < died && to >= died).map(({ from }) => from))
}

/** What was seen until the store died for the first time: nothing was lost by then. A call that was not answered yet may have been carried out. */
export function beforeLosses(testimony: Testimony): Testimony {
  const died = Math.min(...testimony.losses.map(({ at }) => at))
  const started = new Map<string, number>()
  for (const { id, at } of testimony.starts)
    if (at >= died) started.set(id, Math.min(at, started.get(id) ?? Number.POSITIVE_INFINITY))
  // What came of a start before is heard of later, and before the next start.
  const isOfBefore = ({ id, seenAt }: { readonly id: string; readonly seenAt: number }) =>
    seenAt < died || seenAt < (started.get(id) ?? Number.POSITIVE_INFINITY)
  // A job that was asked for again may be a new one, and its end that of the new one.
  const isAskedAgain = new Set(testimony.calls.filter(({ from }) => from >= died).map(({ id }) => id))
  const ended = new Set<string>()
  const isFirstOrBefore = ({ id, seenAt }: { readonly id: string; readonly seenAt: number }) => {
    const isNews = !ended.has(id)
    ended.add(id)
    return seenAt < died || (isNews && !isAskedAgain.has(id))
  }
  return {
    ...testimony,
    calls: testimony.calls
      .filter(({ from }) => from < died)
      .map((call) => (call.to < died ? call : { ...call, to: Number.POSITIVE_INFINITY, answer: 'unknown' })),
    starts: testimony.starts.filter(({ at }) => at < died),
    settles: (testimony.settles ?? []).filter(({ from }) => from < died),
    returns: testimony.returns.filter(isOfBefore),
    ends: testimony.ends
      .filter(isOfBefore)
      .toSorted((a, b) => a.seenAt - b.seenAt)
      .filter(isFirstOrBefore),
    faults: testimony.faults.filter(({ at }) => at < died),
    crashes: testimony.crashes.filter(({ at }) => at < died),
    losses: [],
    isUnfinished: true,
  }
}

/**
 * Jobs that were first asked for when the store was back for good: nothing of them is lost. What had waited there before only
 * takes room from them, so of refusals nothing can be said.
 */
export function afterLosses(jobs: readonly JobSeen[], losses: readonly Loss[]): JobSeen[] {
  const back = Math.max(...losses.map(({ to }) => to))
  return jobs
    .filter(({ admits }) => admits.length > 0 && admits.every(({ from }) => from >= back))
    .map((job) => ({ ...job, admits: job.admits.filter(({ answer }) => !answer.startsWith('full')) }))
}
