import { GRANTED_AHEAD } from '../history-file.ts'
import type { JobSeen } from './jobs.ts'
import { type Bounds, type Call, type Finding, ms, type Start, type Testimony } from './testimony.ts'
import { isBelow } from './totals.ts'

/**
 * Jobs that were refused because they would start after their deadline, or that expired. A refusal is right only where the job
 * might have been late: if all that can have stood before it departs at the rate and it is still in time, it was refused without
 * a reason. After the clock of the store was moved, or what it had decided is lost, a line waits for longer, so that nothing is said.
 */
export function judgeDeadlines(
  key: string,
  jobs: readonly JobSeen[],
  bounds: Bounds,
  testimony: Testimony,
): Finding[] {
  const { losses, moves } = testimony
  const judgedUntil = Math.min(...moves, ...losses.map(({ at }) => at))
  return jobs.flatMap((job) => {
    const refusals = job.admits.filter(({ answer, to }) => answer === 'deadline' && to < judgedUntil)
    const needless = refusals.find((call) => isNeedless(call, jobs, bounds, testimony))
    if (needless !== undefined) {
      const message =
        `key "${key}": "${job.id}" was refused for its deadline of ${ms(needless.deadline ?? 0)} at ${ms(needless.to)}, and all ` +
        'that can have stood before it would have departed in time'
      return [{ kind: 'refused in time', at: needless.to, key, id: job.id, message } as const]
    }
    const [end] = job.ends
    const { deadline = 0, from = 0 } = job.admits.find((call) => call.deadline !== undefined) ?? {}
    if (end?.outcome !== 'expired' || end.seenAt >= judgedUntil) return []
    // A job expires when its slot is reserved, if that slot lies behind its deadline.
    if (end.seenAt + GRANTED_AHEAD >= from + deadline) return []
    const message = `key "${key}": "${job.id}" had expired by ${ms(end.seenAt)}, before its deadline of ${ms(deadline)} from ${ms(from)} on`
    return [{ kind: 'refused in time', at: end.seenAt, key, id: job.id, message } as const]
  })
}

function isNeedless(
  { id, key, from, to, deadline = 0, cost, costs }: Call,
  jobs: readonly JobSeen[],
  bounds: Bounds,
  { lag, starts: all, totals }: Testimony,
): boolean {
  const mayStandBefore = (job: JobSeen) => {
    const { admission, starts, ends } = job
    if (job.id === id || admission === undefined || admission.from > to) return false
    const last = starts.at(-1)
    const gone = last === undefined ? ends[0]?.seenAt : (last.heardBy ?? last.at + lag)
    return gone === undefined || gone >= from
  }
  // The line cannot have counted more than its capacity, but for jobs that wait for a retry.
  const ahead = jobs.filter(mayStandBefore)
  const units = ahead.reduce((sum, job) => sum + job.cost, 0)
  const retried = ahead.filter(({ starts }) => starts.length > 0).reduce((sum, job) => sum + job.cost, 0)
  const line = Math.min(units, bounds.capacity + retried)
  const waitIn = ({ interval, quotas = [] }: Bounds, started: readonly Start[]) => {
    const next = Math.max(
      0,
      ...started.filter(({ at }) => at <= to).map((one) => one.at + interval * one.cost),
    )
    // Where the store was restarted, each bucket waits for one interval more.
    const paced = Math.max(0, next - from) + interval * (line + 1 + cost)
    // Where the quotas have no room, each lets its amount go in a window and a sixtieth. How long handlers take refuses no job.
    return quotas.reduce((sum, { amount, unit, each = 0, window }) => {
      const unitsOf = (one: Pick<Call, 'cost' | 'costs'>) =>
        unit === undefined ? one.cost : (one.costs?.[unit] ?? each)
      const counted = ahead.reduce(
        (sum, job) => sum + unitsOf(job.admits[0] ?? job),
        unitsOf({ cost, costs }),
      )
      const length = 'length' in window ? window.length : Number.POSITIVE_INFINITY
      return sum + ((length * 61) / 60) * (Math.ceil(counted / amount) * 2 + 1)
    }, paced)
  }
  const own = waitIn(
    bounds,
    jobs.flatMap(({ starts }) => starts),
  )
  // A total refuses for a deadline what the line of the key alone could not do under it.
  const above = [...(totals ?? [])].filter(([path]) => isBelow(key, path))
  const wait = above.reduce(
    (sum, [path, total]) =>
      sum +
      waitIn(
        total,
        all.filter((start) => isBelow(start.key, path)),
      ),
    own,
  )
  return wait + GRANTED_AHEAD + bounds.tolerance <= deadline
}
