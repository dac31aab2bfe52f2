import type { JobSeen } from './jobs.ts'
import { type Finding, ms, type Testimony } from './testimony.ts'

/**
 * First starts of one key against the order of admission. For jobs that are all different, a queue has a legal order exactly if
 * no job that was certainly admitted before another started after it.
 */
export function judgeOrder(key: string, jobs: readonly JobSeen[], { crashes }: Testimony): Finding[] {
  const line = jobs.filter(({ admission, starts }) => admission !== undefined && starts.length > 0)
  const byStart = line.toSorted((a, b) => a.starts[0]!.at - b.starts[0]!.at)
  const exposed = exposedIn(jobs, crashes)
  const findings: Finding[] = []
  /** Of those that started before: the one that was admitted last. */
  let latest: JobSeen | undefined
  for (const job of byStart) {
    const { admission, id, starts } = job
    if (latest !== undefined && admission!.to < latest.admission!.from && !exposed.has(id)) {
      const message =
        `key "${key}": "${id}" was admitted by ${ms(admission!.to)} and started at ${ms(starts[0]!.at)}, after "${latest.id}", ` +
        `which was asked for at ${ms(latest.admission!.from)} and started at ${ms(latest.starts[0]!.at)}`
      findings.push({ kind: 'out of order', at: starts[0]!.at, key, id, message })
    }
    if (latest === undefined || admission!.from > latest.admission!.from) latest = job
  }
  return findings
}

/** Jobs that a process may have held when it failed: those at the head of the line then. */
export function exposedIn(jobs: readonly JobSeen[], crashes: Testimony['crashes']): Set<string> {
  const exposed = new Set<string>()
  for (const { at, handed } of crashes) {
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
