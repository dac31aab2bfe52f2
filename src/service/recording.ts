import { setTimeout as sleep } from 'node:timers/promises'
import { MILLISECOND, SECOND } from '../core/duration.ts'
import { toError } from '../core/thrown.ts'
import type { Shaper } from '../shaper/shaper.ts'
import { formatArrival } from '../simulate/arrivals-csv.ts'
import type { Log } from '../telemetry/log.ts'
import { ArrivalsFile } from './arrivals-file.ts'

/** Between a line and its writing, so that many are written at once. */
const GATHER_MS = 200
const TRY_AGAIN_AFTER_MS = 1_000
/** Characters that wait to be written: some hundred thousand lines. */
const MOST_WAITING = 4 * 1_024 * 1_024
const LAST_WRITES_MS = 2_000

/** What an arrival tells of itself, accepted or not. */
interface Verdict {
  readonly key: string
  readonly cost: number
  /** Milliseconds. */
  readonly at: number
}

export interface RecordingOptions {
  readonly file: string
  readonly log: Log
  /** Default: 4 MiB of lines. */
  readonly mostWaiting?: number
  /** Default: those above. */
  readonly gatherMs?: number
  readonly tryAgainMs?: number
}

/**
 * Writes down every arrival of a shaper in this process, jobs and turns, accepted or turned away, for `velvet-rope
 * simulate`. Nobody who arrives waits for the disk: lines are gathered and written in batches, and when too many wait,
 * since the disk is slow, full or gone, further ones are dropped and counted, which the log tells.
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
  /** Of the line before, microseconds: what reads the file wants the order of time. */
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

  /** @throws InvalidOptionsError when the file cannot be written, or is not one of arrivals */
  static async start(shaper: Shaper, options: RecordingOptions): Promise<Recording> {
    const file = await ArrivalsFile.open(options.file)
    return new Recording(shaper, file, (await file.lastOffset()) * SECOND, options)
  }

  /** Writes what waits, now: into another file, if the name leads to another. Resolves when it was tried. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    // What is under way may not have all of it.
    await this.#writing
    await this.#write()
  }

  /** Writes the rest, if that can be done in two seconds. */
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

  readonly #onVerdict = ({ key, cost, at }: Verdict): void => {
    if (this.#waiting.length >= this.#mostWaiting) {
      if (this.#dropped++ === 0)
        this.#log.warn('arrivals are not recorded: the file cannot be written fast enough')
      return
    }
    // Answers of a store may overtake each other, and the clock of another day may have been ahead.
    this.#last = Math.max(this.#last, at * MILLISECOND)
    this.#waiting += formatArrival({ at: this.#last, key, cost })
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
        this.#log.error('arrivals cannot be recorded; it is tried again', { error: toError(thrown) })
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
