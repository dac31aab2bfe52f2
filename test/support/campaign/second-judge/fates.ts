import type { Loss } from '../history-file.ts'
import { judgeData } from './carried.ts'
import type { JobSeen } from './jobs.ts'
import { mayBeGone, mayHaveForgotten, mayHaveForgottenCall, mayHaveForgottenEnd } from './losses.ts'
import { type Finding, ms, type Testimony } from './testimony.ts'

/** What became of each job, one by one: no order of events has to be searched for. */
export function judgeFates(jobs: readonly JobSeen[], { losses, isUnfinished = false }: Testimony): Finding[] {
  const always = [neverAsked, refused, neverStarted, endedTwice, afterEnd, tooOften, cancelled, judgeData]
  const judges = isUnfinished ? always : [...always, lost]
  return jobs.flatMap((job) => judges.flatMap((judge) => judge(job, losses) ?? []))
}

type Judge = (job: JobSeen, losses: readonly Loss[]) => Finding | undefined

const found = (kind: Finding['kind'], { id, key }: JobSeen, at: number, what: string): Finding => ({
  kind,
  at,
  key,
  id,
  message: `key "${key}": job "${id}" ${what}`,
})

const neverAsked: Judge = (job) => {
  const [first] = job.starts
  if (first === undefined || job.admits.some(({ from }) => from < first.at)) return undefined
  return found(
    'never asked for',
    job,
    first.at,
    `started at ${ms(first.at)} before any producer asked for it`,
  )
}

const refused: Judge = (job) => {
  const last = job.starts.at(-1)
  if (last === undefined || job.admits.length === 0 || job.admission !== undefined) return undefined
  const { answer, to } = job.admits.at(-1)!
  return found(
    'ran though refused',
    job,
    last.at,
    `started at ${ms(last.at)}, and its last answer was "${answer}" at ${ms(to)}`,
  )
}

const lost: Judge = (job, losses) => {
  const accepted = job.admits.find(({ answer }) => answer === 'accepted')
  if (accepted === undefined || job.ends.length > 0 || mayBeGone(job, losses)) return undefined
  return found('lost', job, accepted.to, `was accepted at ${ms(accepted.to)} and has no end`)
}

const neverStarted: Judge = (job) => {
  const end = job.ends.find(({ outcome }) => outcome === 'completed' || outcome === 'failed')
  if (end === undefined || job.starts.length > 0) return undefined
  return found('never started', job, end.seenAt, `ended as ${end.outcome}, and no handler started`)
}

const endedTwice: Judge = (job, losses) => {
  const [first, second] = job.ends
  if (first === undefined || second === undefined || mayHaveForgottenEnd(job, losses)) return undefined
  return found(
    'ended twice',
    job,
    second.seenAt,
    `ended as ${first.outcome} and once more as ${second.outcome}`,
  )
}

const afterEnd: Judge = (job, losses) => {
  const [end] = job.ends
  if (mayHaveForgottenEnd(job, losses)) return undefined
  const after = end && job.starts.find(({ at }) => at > end.seenAt)
  if (after === undefined) return undefined
  return found(
    'ran after its end',
    job,
    after.at,
    `started at ${ms(after.at)}, ${ms(after.at - end!.seenAt)} after its end was known`,
  )
}

/**
 * A start of an attempt that had started before needs a reason of its own: between the two, the process of the first failed, or
 * a freeze gave the job back. What became of other processes, or of this one before or after, excuses nothing.
 */
const tooOften: Judge = (job, losses) => {
  const returns = job.returns.filter(({ isFreeze }) => isFreeze)
  for (const [index, start] of job.starts.entries()) {
    const next = job.starts.slice(index + 1).find(({ attempt }) => attempt === start.attempt)
    if (next === undefined || mayHaveForgotten(job, start, next, losses)) continue
    const failed = job.faults.some(
      ({ at, process }) => process === start.process && at >= start.at && at <= next.at,
    )
    const back = failed ? -1 : returns.findIndex(({ seenAt }) => seenAt >= start.at)
    if (!failed && back < 0) {
      const what = `again as attempt ${next.attempt} at ${ms(next.at)}, ${ms(next.at - start.at)} after a start that neither failed with its process nor was given back`
      return found('started too often', job, next.at, `started ${what}`)
    }
    if (back >= 0) returns.splice(back, 1)
  }
  return undefined
}

const cancelled: Judge = (job, losses) => {
  const confirmed = job.cancels.find(
    (cancel) => cancel.answer === 'true' && !mayHaveForgottenCall(cancel, losses),
  )
  const [end] = job.ends
  if (confirmed !== undefined) {
    const after = job.starts.find(({ at }) => at > confirmed.to)
    if (after !== undefined)
      return found(
        'cancelled and not',
        job,
        after.at,
        `started at ${ms(after.at)}, after "cancelled" at ${ms(confirmed.to)}`,
      )
    if (end !== undefined && end.outcome !== 'cancelled')
      return found(
        'cancelled and not',
        job,
        end.seenAt,
        `ended as ${end.outcome}, and its cancellation had been confirmed`,
      )
  }
  const denied = job.cancels.length > 0 && job.cancels.every(({ answer }) => answer === 'false')
  if (denied && end?.outcome === 'cancelled')
    return found(
      'cancelled and not',
      job,
      end.seenAt,
      'ended as cancelled, and every cancellation had been denied',
    )
  return undefined
}
