import { setTimeout as sleep } from 'node:timers/promises'
import type { ShaperEvents } from '../core/events.ts'
import type { Shaper } from '../shaper/shaper.ts'
import type { Log } from '../telemetry/log.ts'
import type { LiveWorker } from './live-worker.ts'

const PROGRESS_MS = 5_000
/** The longest time that `close` accepts. */
const LONGEST_DRAIN_MS = 366 * 86_400_000

export interface CloseMemoryOptions {
  /** Whether to wait for waiting jobs. */
  readonly drain: boolean
  /** How long running handlers may take to end without `drain`, in milliseconds. */
  readonly drainMs: number
  readonly worker: LiveWorker | undefined
  readonly log: Log
}

/** Closes a shaper in memory, whose lines end with the process, and logs every job that is lost. */
export async function closeMemoryShaper(
  shaper: Shaper,
  { drain, drainMs, worker, log }: CloseMemoryOptions,
): Promise<void> {
  let lost = 0
  const onCancelled = ({ id, key }: ShaperEvents['cancelled'][0]) => {
    lost++
    log.warn('lost: it was waiting in memory', { id, key })
  }
  const onFailed = ({ id, key, retryAt }: ShaperEvents['failed'][0]) => {
    if (retryAt === undefined) log.warn('interrupted: its handler ran beyond the deadline', { id, key })
  }
  if (drain) {
    const stopLogging = logProgress(shaper, log)
    await shaper.close({ drainMs: LONGEST_DRAIN_MS }).finally(stopLogging)
    return
  }
  if (worker !== undefined) await Promise.race([worker.stop(), after(drainMs)])
  // Only from here on: earlier cancellations were intended.
  shaper.on('cancelled', onCancelled).on('failed', onFailed)
  await shaper.close({ drainMs: 0 })
  if (lost > 0) {
    log.warn('jobs waiting in memory are lost; --drain waits for them, and redis keeps them', {
      jobs: lost,
    })
  }
}

/** Resolves after `ms` milliseconds; does not keep the process alive. */
function after(ms: number): Promise<void> {
  return sleep(ms, undefined, { ref: false })
}

function logProgress(shaper: Shaper, log: Log): () => void {
  const timer = setInterval(async () => {
    const { waiting, running, retrying } = await shaper.audit()
    log.info('draining', { waiting, retrying, running })
  }, PROGRESS_MS)
  return () => clearInterval(timer)
}
