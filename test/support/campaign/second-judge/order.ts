import type { JobSeen } from './jobs.ts'
import { crashesOf, mayHaveForgottenEnd } from './losses.ts'
import { type Finding, ms, type Testimony } from './testimony.ts'

/**
 * First starts of one key against the order of admission. For jobs that are all different, a queue has a legal order exactly if
 * no job that was certainly admitted before another started after it. Those of one call are admitted in the order of its questions.
 */
export function judgeOrder(key: string, jobs: readonly JobSeen[], testimony: Testimony): Finding[] {
  const line = jobs.filter(({ admission, starts }) => admission !== undefined && starts.length > 0)
  const byStart = line.toSorted((a, b) => a.starts[0]!.at - b.starts[0]!.at)
  const exposed = exposedIn(jobs, testimony)
  const findings: Finding[] = []
  /** Of those that started before: the one that was admitted last, in all and of each call. */
  let latest: JobSeen | undefined
  const latestOfCall = new Map<number, JobSeen>()
  for (const job of byStart) {
    const { id, starts } = job
    const admission = job.admission!
    const sibling = latestOfCall.get(admission.from)
    const overtaker =
      latest !== undefined && admission.to < latest.admission!.from
        ? latest
        : admission.isOfOneCall && sibling !== undefined && admission.place < sibling.admission!.place
          ? sibling
          : undefined
    if (overtaker !== undefined && !exposed.has(id) && !hasReturned(job, testimony)) {
      const message =
        `key "${key}": "${id}" was admitted by ${ms(admission.to)} and started at ${ms(starts[0]!.at)}, after "${overtaker.id}", ` +
        `which was asked for ${overtaker === sibling ? 'behind it in the same call' : `at ${ms(overtaker.admission!.from)}`} ` +
        `and started at ${ms(overtaker.starts[0]!.at)}`
      findings.push({ kind: 'out of order', at: starts[0]!.at, key, id, message })
    }
    if (latest === undefined || admission.from > latest.admission!.from) latest = job
    if (admission.isOfOneCall && (sibling === undefined || admission.place > sibling.admission!.place))
      latestOfCall.set(admission.from, job)
  }
  return findings
}

/** The store forgot that the job had ended, and others started in between. */
function hasReturned(job: JobSeen, { losses }: Testimony): boolean {
  const end = job.ends[0]?.seenAt ?? Number.POSITIVE_INFINITY
  return end < job.starts[0]!.at && mayHaveForgottenEnd(job, losses)
}

/** Jobs that a process may have held when it failed: those at the head of the line then. */
export function exposedIn(
  jobs: readonly JobSeen[],
  { crashes, losses }: Pick<Testimony, 'crashes' | 'losses'>,
): Set<string> {
  const exposed = new Set<string>()
  for (const { at, handed } of [...crashes, ...crashesOf(losses)]) {
    const waiting = jobs
      .filter(({ admission, starts, ends }) => {
        const since = admission?.from ?? Number.POSITIVE_INFINITY
        const left = Math.min(
          starts[0]?.at ?? Number.POSITIVE_INFINITY,
          ends[0]?.seenAt ?? Number.POSITIVE_INFINITY,
        )
        return since <= at && left >= at
      })
      .toSorted((a, b) => a.admission!.from - b.admission!.from || a.admission!.place - b.admission!.place)
    for (const { id } of waiting.slice(0, handed)) exposed.add(id)
  }
  return exposed
}
