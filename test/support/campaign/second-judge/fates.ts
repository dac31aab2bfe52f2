import type { JobSeen } from './jobs.ts'
import { type Finding, ms, type Testimony } from './testimony.ts'

/** What became of each job, one by one: no order of events has to be searched for. */
export function judgeFates(jobs: readonly JobSeen[], { isLossy }: Testimony): Finding[] {
  return jobs.flatMap((job) => {
    const judges = isLossy
      ? [neverAsked]
      : [neverAsked, refused, lost, neverStarted, endedTwice, afterEnd, tooOften, cancelled]
    return judges.flatMap((judge) => judge(job) ?? [])
  })
}

type Judge = (job: JobSeen) => Finding | undefined

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

const lost: Judge = (job) => {
  const accepted = job.admits.find(({ answer }) => answer === 'accepted')
  if (accepted === undefined || job.ends.length > 0) return undefined
  return found('lost', job, accepted.to, `was accepted at ${ms(accepted.to)} and has no end`)
}

const neverStarted: Judge = (job) => {
  const end = job.ends.find(({ outcome }) => outcome === 'completed')
  if (end === undefined || job.starts.length > 0) return undefined
  return found('never started', job, end.seenAt, 'is completed, and no handler started')
}

const endedTwice: Judge = (job) => {
  const [first, second] = job.ends
  if (first === undefined || second === undefined) return undefined
  return found(
    'ended twice',
    job,
    second.seenAt,
    `ended as ${first.outcome} and once more as ${second.outcome}`,
  )
}

const afterEnd: Judge = (job) => {
  const [end] = job.ends
  const after = end && job.starts.find(({ at }) => at > end.seenAt)
  if (after === undefined) return undefined
  return found(
    'ran after its end',
    job,
    after.at,
    `started at ${ms(after.at)}, ${ms(after.at - end!.seenAt)} after its end was known`,
  )
}

/** Each start needs its reason: the first of an attempt, a fault of the process that ran it, or a freeze that gave it back. */
const tooOften: Judge = (job) => {
  const attempts = new Set(job.starts.map(({ attempt }) => attempt))
  const freezes = job.returns.filter(({ isFreeze }) => isFreeze).length
  const reasons = attempts.size + job.faults.length + freezes
  if (job.starts.length <= reasons) return undefined
  const what = `${job.starts.length} times in ${attempts.size} attempts, with ${job.faults.length} faults and ${freezes} freezes`
  return found('started too often', job, job.starts.at(-1)!.at, `started ${what}`)
}

const cancelled: Judge = (job) => {
  const confirmed = job.cancels.find(({ answer }) => answer === 'true')
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
