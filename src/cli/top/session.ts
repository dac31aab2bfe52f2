import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicNow } from '../../core/clock.ts'
import { MILLISECOND } from '../../core/duration.ts'
import { isVelvetRopeError } from '../../core/errors.ts'
import type { ScreenSize } from '../full-screen.ts'
import type { Key } from '../keyboard.ts'
import { shortTime } from './cells.ts'
import { readTop, type TopLister, type TopRows } from './rows.ts'
import { renderTop, rowsSeen } from './screen.ts'
import { clampOffset, familiesOf, press, queryOf, type TopState } from './state.ts'

export interface TopSessionOptions {
  readonly lister: TopLister
  readonly screen: { readonly size: ScreenSize; draw(lines: readonly string[]): void }
  /** The address of the line, without secrets. */
  readonly place: string
  readonly everyMs: number
  /** Monotonic milliseconds since the epoch. Default: the clock of this process. */
  readonly now?: () => number
  /** Resolves after this time or when the signal aborts. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>
}

/** The result of a read. */
interface Outcome {
  readonly found?: TopRows
  readonly errorText?: string
}

/** The minimum number of rows to read, so that the sums cover more than the screen. */
const LEAST_READ = 200
const PATIENCE_MS = 1_000

/**
 * The interactive `top`: reads buckets or totals periodically, draws them, and handles keys. A key that changes the query reads
 * at once. Without an answer, the last data stays on the screen with its age.
 */
export class TopSession {
  readonly #options: Required<TopSessionOptions>
  #state: TopState
  #found: TopRows
  #readAt: number
  /** The query of the last read, whether it succeeded or not. */
  #readFor: string
  #errorText: string | undefined
  #nap = new AbortController()
  #isReading = false
  #hasEnded = false
  #onEnd = () => {}

  /** @param found the current data for `state` */
  constructor(state: TopState, found: TopRows, options: TopSessionOptions) {
    this.#options = { now: monotonicMs, wait, ...options }
    this.#state = state
    this.#found = found
    this.#readAt = this.#options.now()
    this.#readFor = this.#wish()
  }

  /** Runs until `end` or until the user quits; returns how. @throws unexpected errors */
  async run(): Promise<TopState['leaving']> {
    this.#draw()
    await new Promise<void>((resolve, reject) => {
      this.#onEnd = resolve
      this.#keepReading().catch(reject)
    })
    return this.#state.leaving
  }

  press(keys: readonly Key[]): void {
    for (const key of keys) {
      this.#state = press(this.#state, key, this.#rows())
    }
    if (this.#state.leaving === undefined) this.#look()
    else this.end()
  }

  resize(): void {
    this.#state = clampOffset(this.#state, this.#rows())
    this.#look()
  }

  end(): void {
    this.#hasEnded = true
    this.#nap.abort()
    this.#onEnd()
  }

  /** Draws the current data, and reads at once if the query has changed. */
  #look(): void {
    this.#draw()
    if (!this.#isReading && this.#wish() !== this.#readFor) this.#nap.abort()
  }

  async #keepReading(): Promise<void> {
    while (!this.#hasEnded) {
      if (this.#wish() === this.#readFor) await this.#sleep(this.#options.everyMs)
      if (!this.#hasEnded) await this.#read()
    }
  }

  async #read(): Promise<void> {
    const wish = this.#wish()
    const outcome = await this.#ask()
    if (outcome === undefined || this.#hasEnded) return
    this.#readFor = wish
    this.#errorText = outcome.errorText
    // The query may have changed meanwhile.
    if (outcome.found !== undefined && wish === this.#wish()) {
      this.#found = outcome.found
      this.#readAt = this.#options.now()
      this.#state = clampOffset(this.#state, this.#rows())
    }
    this.#draw()
  }

  /** Reads, and shows how long it takes if it is slow. Returns undefined if the session has ended meanwhile. */
  async #ask(): Promise<Outcome | undefined> {
    const { lister, now } = this.#options
    const startedAt = now()
    let outcome: Outcome | undefined
    const reading = readTop(lister, this.#state, this.#wanted())
      .then(
        (found): Outcome => ({ found }),
        (error): Outcome => ({ errorText: errorText(error) }),
      )
      .then((settled) => {
        outcome = settled
      })
      .finally(() => this.#nap.abort())
    this.#isReading = true
    try {
      while (!this.#hasEnded) {
        await Promise.race([reading, this.#sleep(PATIENCE_MS)])
        if (outcome !== undefined) break
        this.#errorText = `no answer for ${shortTime(now() - startedAt)}`
        this.#draw()
      }
    } finally {
      this.#isReading = false
    }
    return outcome
  }

  /** Sleeps for this time or until woken. */
  async #sleep(ms: number): Promise<void> {
    this.#nap = new AbortController()
    await this.#options.wait(ms, this.#nap.signal)
  }

  #draw(): void {
    if (this.#hasEnded) return
    const { screen, place, now } = this.#options
    const errorText = this.#errorText && `${shortTime(now() - this.#readAt)} old: ${this.#errorText}`
    screen.draw(
      renderTop({ state: this.#state, found: this.#found, place, errorText, now: now() }, screen.size),
    )
  }

  #rows() {
    return { total: this.#found.total, seen: rowsSeen(this.#options.screen.size) }
  }

  /** The number of rows to read for the current scroll position. */
  #wanted(): number {
    return Math.max(LEAST_READ, this.#state.offset + rowsSeen(this.#options.screen.size))
  }

  /** Everything that a read depends on. */
  #wish(): string {
    const query = this.#state.isFamilies ? familiesOf(this.#state) : queryOf(this.#state)
    return JSON.stringify([this.#state.isFamilies, query, this.#wanted()])
  }
}

/** The message of an expected error. @throws unexpected errors */
function errorText(error: unknown): string {
  if (!isVelvetRopeError(error)) throw error
  return error.message
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}

function monotonicMs(): number {
  return monotonicNow() / MILLISECOND
}
