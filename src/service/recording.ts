import { setTimeout as sleep } from 'node:timers/promises'
import { MILLISECOND, SECOND } from '../core/duration.ts'
import { toError } from '../core/thrown.ts'
import type { Costs } from '../core/usage.ts'
import type { Shaper } from '../shaper/shaper.ts'
import { formatArrival } from '../simulate/arrivals-csv.ts'
import type { Log } from '../telemetry/log.ts'
import { ArrivalsFile } from './arrivals-file.ts'

/** How long lines are collected before they are written together. */
const GATHER_MS = 200
const TRY_AGAIN_AFTER_MS = 1_000
/** Characters that may wait to be written: some hundred thousand lines. */
const MOST_WAITING = 4 * 1_024 * 1_024
const LAST_WRITES_MS = 2_000

/** An arrival, accepted or rejected. */
interface Verdict {
  readonly key: string
  readonly cost: number
  readonly costs?: Costs
  /** Milliseconds. */
  readonly at: number
}

export interface RecordingOptions {
  /** Path of the file. */
  readonly file: string
  readonly log: Log
  /** Characters that may wait to be written. Default: 4 MiB. */
  readonly mostWaiting?: number
  /** Milliseconds for which lines are collected before a write. Default: 200. */
  readonly gatherMs?: number
  /** Milliseconds until a failed write is retried. Default: 1,000. */
  readonly tryAgainMs?: number
}

/**
 * Records every arrival at a shaper in this process, jobs and turns, accepted or rejected, for `velvet-rope simulate`.
 * No request waits for the disk: lines are collected and written in batches. If too many wait, because the disk is
 * slow, full or gone, further ones are dropped, and their number is logged.
 */
export class Recording {
  readonly #shaper: Shaper
  readonly #file: ArrivalsFile
  readonly #log: Log
  readonly #mostWaiting: number
  readonly #gatherMs: number
  readonly #tryAgainMs: number
  #waiting = ''
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined
  #dropped = 0
  #isFailing = false
  /** Time of the previous line, in microseconds: readers of the file require ascending times. */
  #last: number

  private constructor(shaper: Shaper, file: ArrivalsFile, last: number, options: RecordingOptions) {
    this.#shaper = shaper
    this.#file = file
    this.#last = last
    this.#log = options.log
    this.#mostWaiting = options.mostWaiting ?? MOST_WAITING
    this.#gatherMs = options.gatherMs ?? GATHER_MS
    this.#tryAgainMs = options.tryAgainMs ?? TRY_AGAIN_AFTER_MS
    shaper.on('admitted', this.#onVerdict).on('rejected', this.#onVerdict)
  }

  /**
   * @throws InvalidOptionsError if the file cannot be written, or is not a file of arrivals
   */
  static async start(shaper: Shaper, options: RecordingOptions): Promise<Recording> {
    const file = await ArrivalsFile.open(options.file)
    if (await file.isFormer()) {
      options.log.warn('named costs are not recorded in a file that an earlier version began: move it away', {
        file: options.file,
      })
    }
    return new Recording(shaper, file, (await file.lastOffset()) * SECOND, options)
  }

  /** Writes all collected lines now, into a new file if the old one was moved. Resolves after the attempt. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    // A write under way may not contain all lines.
    await this.#writing
    await this.#write()
  }

  /** Writes the rest if that takes at most two seconds. */
  async close(): Promise<void> {
    this.#shaper.off('admitted', this.#onVerdict).off('rejected', this.#onVerdict)
    const isWritten = await Promise.race([
      this.flush().then(() => true),
      sleep(LAST_WRITES_MS, false, { ref: false }),
    ])
    clearTimeout(this.#timer)
    if (!isWritten || this.#waiting !== '') {
      this.#log.warn('arrivals at the end were not recorded', {
        lines: linesIn(this.#waiting) + this.#dropped,
      })
    }
    if (isWritten) await this.#file.close()
  }

  readonly #onVerdict = ({ key, cost, costs, at }: Verdict): void => {
    if (this.#waiting.length >= this.#mostWaiting) {
      if (this.#dropped++ === 0)
        this.#log.warn('arrivals are not recorded: the file cannot be written fast enough')
      return
    }
    // Replies of a store may arrive out of order, and the clock may have been ahead in an earlier run.
    this.#last = Math.max(this.#last, at * MILLISECOND)
    this.#waiting += formatArrival({ at: this.#last, key, cost, ...(costs && { costs }) })
    this.#writeIn(this.#gatherMs)
  }

  #writeIn(ms: number): void {
    if (this.#timer !== undefined || this.#writing !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.#write()
    }, ms).unref()
  }

  #write(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined
      if (this.#waiting !== '') this.#writeIn(this.#isFailing ? this.#tryAgainMs : this.#gatherMs)
    })
    return this.#writing
  }

  async #writeAll(): Promise<void> {
    const lines = this.#waiting
    if (lines === '') return
    try {
      await this.#file.append(lines)
    } catch (thrown) {
      if (!this.#isFailing) {
        this.#log.error('arrivals cannot be recorded; retrying', { error: toError(thrown) })
      }
      this.#isFailing = true
      return
    }
    this.#waiting = this.#waiting.slice(lines.length)
    const isBehind = this.#dropped > 0 && this.#waiting !== ''
    if (isBehind || (!this.#isFailing && this.#dropped === 0)) return
    this.#log.warn('arrivals are recorded again', { dropped: this.#dropped })
    this.#isFailing = false
    this.#dropped = 0
  }
}

function linesIn(text: string): number {
  return text.split('\n').length - 1
}
