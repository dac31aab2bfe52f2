import { quote } from '../core/describe.ts'
import { isLive, type JobRecord } from './job-record.ts'
import { instant, type OpenCheck, type Report, span } from './law.ts'

/**
 * L4: jobs of a key start for the first time in the order of their admission: by `seq` if all have one, otherwise in
 * the order of their verdicts. Jobs that ended in the line are left out, and so are jobs hit by a fault or a crash in
 * the line: the jobs behind them wait for their leases, not for ever. Each job that overtook another is one breach.
 */
export const order: OpenCheck = (ledger, _options, report) => ({
  see() {},
  finish() {
    const lines = new Map<string, JobRecord[]>()
    for (const job of ledger.accepted.filter(keepsPlace)) {
      const line = lines.get(job.key)
      if (line === undefined) lines.set(job.key, [job])
      else line.push(job)
    }
    for (const line of lines.values()) judgeLine(line, report)
  },
})

function keepsPlace(job: JobRecord): boolean {
  return !job.hitInLine && (job.firstStart !== undefined || isLive(job))
}

function judgeLine(line: JobRecord[], report: Report): void {
  if (line.every((job) => job.seq !== undefined)) line.sort((a, b) => a.seq! - b.seq!)
  // Jobs that started later than all before them in the line: sorted, so a binary search finds the first later one.
  const latest: JobRecord[] = []
  for (const job of line) {
    const last = latest.at(-1)
    if (last === undefined || startOf(last) <= startOf(job)) latest.push(job)
    else report(breach(job, latest[firstStartedAfter(latest, startOf(job))]!))
  }
}

/** The index of the first of `latest`, sorted by start, that started after `start`; its last one did. */
function firstStartedAfter(latest: readonly JobRecord[], start: number): number {
  let low = 0
  let high = latest.length - 1
  while (low < high) {
    const middle = (low + high) >>> 1
    if (startOf(latest[middle]!) > start) high = middle
    else low = middle + 1
  }
  return low
}

function startOf(job: JobRecord): number {
  return job.firstStart?.place ?? Number.POSITIVE_INFINITY
}

function breach(job: JobRecord, overtaken: JobRecord) {
  const { key, id } = job
  const at = job.firstStart!.at
  const outcome =
    overtaken.firstStart === undefined
      ? 'which has not started'
      : `which started ${span(overtaken.firstStart.at - at)} later`
  const message =
    `key ${quote(key)}: job ${quote(id)}, started at ${instant(at)}, overtook job ${quote(overtaken.id)}, admitted ` +
    `${span(job.answeredAt - overtaken.answeredAt)} before it, ${outcome}, expected the order of admission`
  return { law: 'L4', at, key, id, message } as const
}
