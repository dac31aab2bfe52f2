import { setTimeout as sleep } from 'node:timers/promises'
import { InvalidInputError, isVelvetRopeError } from '../../core/errors.ts'
import type { Admission } from '../../core/job.ts'
import type { EnqueueRequest } from '../../shaper/options.ts'
import { ApiProblemError } from '../api/problem.ts'
import type { JobLine } from './job-lines.ts'
import type { EnqueueTally } from './tally.ts'

/** What of a shaper, or of a service, is needed. In the place of a verdict may stand why nobody could admit the job. */
export interface Entrance {
  enqueueMany(requests: readonly EnqueueRequest<unknown>[]): Promise<readonly (Admission | Error)[]>
}

export interface EnqueueLinesOptions {
  /** What to call the input in messages. */
  readonly file: string
  /** Who was refused because the line was full comes back when he was told to, until all are in. */
  readonly wait: boolean
  /** Told of a line that cannot be admitted by anybody; absent: the work ends there. */
  readonly onInvalid?: ((error: InvalidInputError) => void) | undefined
}

/** A timer of Node that is longer fires at once. */
export const LONGEST_SLEEP_MS = 2 ** 31 - 1
/** For a service that does not say when. */
const DEFAULT_RETRY_MS = 1_000

/**
 * Sends batch after batch; the next is read when everybody of the one before has his last verdict.
 *
 * @throws BackendUnavailableError, ApiProblemError, and whatever the reading of the batches throws; `tally` says how
 * far it came
 */
export async function enqueueLines(
  entrance: Entrance,
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

/** Who has to come back, and when the first of them. */
async function sendBatch(
  entrance: Entrance,
  batch: readonly JobLine[],
  tally: EnqueueTally,
  options: EnqueueLinesOptions,
): Promise<{ retry: readonly JobLine[]; afterMs: number }> {
  let verdicts: readonly (Admission | Error)[]
  try {
    verdicts = await entrance.enqueueMany(batch.map(({ request }) => request))
  } catch (error) {
    // Every job has an id, so whoever was let in already gets the same answer again.
    const afterMs = options.wait ? comeBackMs(error) : undefined
    if (afterMs !== undefined) return { retry: batch, afterMs }
    const culprit = batch.findLast(({ request }) => isFaultOf(error, request))
    if (culprit === undefined || !(error instanceof Error)) throw error
    blame(culprit, error, options)
    return { retry: batch.filter((job) => job !== culprit), afterMs: 0 }
  }
  const retry: JobLine[] = []
  let afterMs = Number.POSITIVE_INFINITY
  for (const [index, verdict] of verdicts.entries()) {
    const job = batch[index]!
    if (verdict instanceof Error) {
      const againMs = options.wait ? comeBackMs(verdict) : undefined
      if (againMs === undefined && isVelvetRopeError(verdict, 'api-failed')) throw verdict
      if (againMs === undefined) {
        blame(job, verdict, options)
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

/** @throws InvalidInputError where nobody wants to hear of it and go on */
function blame({ line }: JobLine, { message }: Error, { file, onInvalid }: EnqueueLinesOptions): void {
  const blamed = new InvalidInputError({ file, line, column: 1 }, message)
  if (onInvalid === undefined) throw blamed
  onInvalid(blamed)
}

/** When to ask a service again that has no room for anybody now, in milliseconds; undefined: it is not that. */
export function comeBackMs(error: unknown): number | undefined {
  if (!(error instanceof ApiProblemError) || ![429, 503].includes(error.status)) return undefined
  return error.retryAfterMs ?? DEFAULT_RETRY_MS
}

/** Only the shaper knows which ids were given away, and which keys have a limit. */
function isFaultOf(error: unknown, { id, key }: EnqueueRequest<unknown>): boolean {
  if (isVelvetRopeError(error, 'id-conflict')) return 'id' in error && error.id === id
  return isVelvetRopeError(error, 'no-limit') && 'key' in error && error.key === key
}
