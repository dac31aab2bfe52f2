import { setTimeout as sleep } from 'node:timers/promises'
import { InvalidInputError, isVelvetRopeError } from '../../core/errors.ts'
import type { Admission } from '../../core/job.ts'
import type { EnqueueRequest } from '../../shaper/options.ts'
import { ApiProblemError } from '../api/problem.ts'
import type { JobLine } from './job-lines.ts'
import type { EnqueueTally } from './tally.ts'

/** A shaper or a service, as far as it is needed here. An error takes the place of a verdict for a job that cannot be admitted. */
export interface Enqueuer {
  enqueueMany(requests: readonly EnqueueRequest<unknown>[]): Promise<readonly (Admission | Error)[]>
}

export interface EnqueueLinesOptions {
  /** The name of the input in messages. */
  readonly file: string
  /** Whether jobs that were rejected because the line was full are retried until all are accepted. */
  readonly wait: boolean
  /** Called with each invalid line; absent: the first one ends the work. */
  readonly onInvalid?: ((error: InvalidInputError) => void) | undefined
}

/** The longest timer of Node; longer ones fire at once. */
export const LONGEST_SLEEP_MS = 2 ** 31 - 1
/** The delay when the service does not give one. */
const DEFAULT_RETRY_MS = 1_000

/**
 * Sends batch after batch; reads the next batch when every job of the last one has its final verdict.
 *
 * @throws BackendUnavailableError, ApiProblemError, and errors of reading the batches; `tally` holds the progress
 */
export async function enqueueLines(
  entrance: Enqueuer,
  batches: AsyncIterable<readonly JobLine[]>,
  tally: EnqueueTally,
  options: EnqueueLinesOptions,
): Promise<void> {
  for await (const batch of batches) {
    tally.begin(batch)
    let pending = batch
    while (pending.length > 0) {
      const { retry, afterMs } = await sendBatch(entrance, pending, tally, options)
      if (retry.length > 0) await sleep(Math.min(afterMs, LONGEST_SLEEP_MS))
      pending = retry
    }
    tally.settle(batch)
  }
}

/** Sends a batch. Returns the jobs to retry, and the time until the first of them. */
async function sendBatch(
  entrance: Enqueuer,
  batch: readonly JobLine[],
  tally: EnqueueTally,
  options: EnqueueLinesOptions,
): Promise<{ retry: readonly JobLine[]; afterMs: number }> {
  let verdicts: readonly (Admission | Error)[]
  try {
    verdicts = await entrance.enqueueMany(batch.map(({ request }) => request))
  } catch (error) {
    // Every job has an id, so a job that was accepted already gets the same answer again.
    const afterMs = options.wait ? retryDelayMs(error) : undefined
    if (afterMs !== undefined) return { retry: batch, afterMs }
    const culprit = batch.findLast(({ request }) => isFaultOf(error, request))
    if (culprit === undefined || !(error instanceof Error)) throw error
    reportInvalid(culprit, error, options)
    return { retry: batch.filter((job) => job !== culprit), afterMs: 0 }
  }
  const retry: JobLine[] = []
  let afterMs = Number.POSITIVE_INFINITY
  for (const [index, verdict] of verdicts.entries()) {
    const job = batch[index]!
    if (verdict instanceof Error) {
      const againMs = options.wait ? retryDelayMs(verdict) : undefined
      if (againMs === undefined && isVelvetRopeError(verdict, 'api-failed')) throw verdict
      if (againMs === undefined) {
        reportInvalid(job, verdict, options)
        continue
      }
      retry.push(job)
      afterMs = Math.min(afterMs, againMs)
    } else if (verdict.accepted) tally.accept(verdict)
    else if (options.wait && verdict.reason === 'full') {
      retry.push(job)
      afterMs = Math.min(afterMs, verdict.retryAfterMs)
    } else tally.reject(verdict)
  }
  return { retry, afterMs }
}

/** Reports an invalid line. @throws InvalidInputError unless `onInvalid` is set */
function reportInvalid(
  { line }: JobLine,
  { message }: Error,
  { file, onInvalid }: EnqueueLinesOptions,
): void {
  const blamed = new InvalidInputError({ file, line, column: 1 }, message)
  if (onInvalid === undefined) throw blamed
  onInvalid(blamed)
}

/** The delay before the next try when a service is overloaded, in milliseconds; undefined for other errors. */
export function retryDelayMs(error: unknown): number | undefined {
  if (!(error instanceof ApiProblemError) || ![429, 503].includes(error.status)) return undefined
  return error.retryAfterMs ?? DEFAULT_RETRY_MS
}

/** Whether an error is about this job: its id is taken, or its key has no limit. */
function isFaultOf(error: unknown, { id, key }: EnqueueRequest<unknown>): boolean {
  if (isVelvetRopeError(error, 'id-conflict')) return 'id' in error && error.id === id
  return isVelvetRopeError(error, 'no-limit') && 'key' in error && error.key === key
}
