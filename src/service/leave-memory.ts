import { setTimeout as sleep } from 'node:timers/promises'
import type { ShaperEvents } from '../core/events.ts'
import type { Shaper } from '../shaper/shaper.ts'
import type { Log } from '../telemetry/log.ts'
import type { LiveWorker } from './live-worker.ts'

const PROGRESS_MS = 5_000
/** The longest that a shaper can be told. */
const FOR_EVER_MS = 366 * 86_400_000

export interface LeaveOptions {
  /** Whether jobs that wait are waited for. */
  readonly drain: boolean
  /** How long handlers that run may take to end, if nobody is waited for. */
  readonly drainMs: number
  readonly worker: LiveWorker | undefined
  readonly log: Log
}

/** Closes a shaper whose lines end with the process, and names every job that is given up. */
export async function leaveMemory(
  shaper: Shaper,
  { drain, drainMs, worker, log }: LeaveOptions,
): Promise<void> {
  let givenUp = 0
  const onCancelled = ({ id, key }: ShaperEvents['cancelled'][0]) => {
    givenUp++
    log.warn('given up: it waited in memory', { id, key })
  }
  const onFailed = ({ id, key, retryAt }: ShaperEvents['failed'][0]) => {
    if (retryAt === undefined) log.warn('cut off: its handler ran beyond the deadline', { id, key })
  }
  if (drain) {
    const stopTelling = tellProgress(shaper, log)
    await shaper.close({ drainMs: FOR_EVER_MS }).finally(stopTelling)
    return
  }
  if (worker !== undefined) await Promise.race([worker.stop(), unless(drainMs)])
  // From here on: who cancelled a job before did so on purpose.
  shaper.on('cancelled', onCancelled).on('failed', onFailed)
  await shaper.close({ drainMs: 0 })
  if (givenUp > 0) {
    log.warn('jobs that waited in memory are gone; --drain waits for them, and redis keeps them', {
      jobs: givenUp,
    })
  }
}

/** Resolves after so long; keeps no process alive. */
function unless(ms: number): Promise<void> {
  return sleep(ms, undefined, { ref: false })
}

function tellProgress(shaper: Shaper, log: Log): () => void {
  const timer = setInterval(async () => {
    const { waiting, running, retrying } = await shaper.audit()
    log.info('draining', { waiting, retrying, running })
  }, PROGRESS_MS)
  return () => clearInterval(timer)
}
