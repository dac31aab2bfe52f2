import { setTimeout as sleep } from 'node:timers/promises'
import { InvalidInputError, isVelvetRopeError } from '../core/errors.ts'
import type { Admission } from '../core/job.ts'
import type { EnqueueRequest } from '../shaper/options.ts'
import type { EnqueueTally } from './enqueue-tally.ts'
import type { JobLine } from './job-lines.ts'

/** What of a shaper is needed. */
export interface Entrance {
  enqueueMany(requests: readonly EnqueueRequest<unknown>[]): Promise<Admission[]>
}

export interface EnqueueLinesOptions {
  /** What to call the input in messages. */
  readonly file: string
  /** Who was refused because the line was full comes back when he was told to, until all are in. */
  readonly wait: boolean
  /** Told of a line that cannot be admitted by anybody; absent: the work ends there. */
  readonly onInvalid?: ((error: InvalidInputError) => void) | undefined
  readonly onProgress: () => void
}

/** A timer of Node that is longer fires at once. */
const LONGEST_SLEEP_MS = 2 ** 31 - 1

/**
 * Sends batch after batch; the next is read when everybody of the one before has his last verdict.
 *
 * @throws BackendUnavailableError, and whatever the reading of the batches throws; `tally` says how far it came
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
      options.onProgress()
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
  let admissions: Admission[]
  try {
    admissions = await entrance.enqueueMany(batch.map(({ request }) => request))
  } catch (error) {
    const culprit = batch.findLast(({ request }) => isFaultOf(error, request))
    if (culprit === undefined || !(error instanceof Error)) throw error
    const blamed = new InvalidInputError({ file: options.file, line: culprit.line, column: 1 }, error.message)
    if (options.onInvalid === undefined) throw blamed
    options.onInvalid(blamed)
    // Every job has an id, so whoever was let in already gets the same answer again.
    return { retry: batch.filter((job) => job !== culprit), afterMs: 0 }
  }
  const retry: JobLine[] = []
  let afterMs = Number.POSITIVE_INFINITY
  for (const [index, admission] of admissions.entries()) {
    if (admission.accepted) tally.accept(admission)
    else if (options.wait && admission.reason === 'full') {
      retry.push(batch[index]!)
      afterMs = Math.min(afterMs, admission.retryAfterMs)
    } else tally.reject(admission)
  }
  return { retry, afterMs }
}

/** Only the shaper knows which ids were given away, and which keys have a limit. */
function isFaultOf(error: unknown, { id, key }: EnqueueRequest<unknown>): boolean {
  if (isVelvetRopeError(error, 'id-conflict')) return 'id' in error && error.id === id
  return isVelvetRopeError(error, 'no-limit') && 'key' in error && error.key === key
}
