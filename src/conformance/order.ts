import { quote } from '../core/describe.ts'
import { isLive, type JobRecord } from './job-record.ts'
import { instant, type Law, type Report, span } from './law.ts'

/**
 * L4: jobs of a key start for the first time in the order of their admission: by `seq` where all have one, else in
 * the order of the answers. Jobs that ended in the line are left out, and jobs that a fault or a crash hit in the line:
 * those behind one of them wait for its lease, not for ever. One breach for each job that overtook.
 */
export const order: Law = (ledger, _options, report) => ({
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
  // Those who started later than everyone before them in the line: rising, so searched by halves.
  const latest: JobRecord[] = []
  for (const job of line) {
    const last = latest.at(-1)
    if (last === undefined || startOf(last) <= startOf(job)) latest.push(job)
    else report(breach(job, latest[firstStartedAfter(latest, startOf(job))]!))
  }
}

/** The place of the first of `latest`, rising by start, that started after `start`; its last one did. */
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
  const fate =
    overtaken.firstStart === undefined
      ? 'which has not started at all'
      : `which started ${span(overtaken.firstStart.at - at)} later`
  const message =
    `key ${quote(key)}: job ${quote(id)}, started at ${instant(at)}, overtook job ${quote(overtaken.id)}, admitted ` +
    `${span(job.answeredAt - overtaken.answeredAt)} before it, ${fate}, expected the order of admission`
  return { law: 'L4', at, key, id, message } as const
}
