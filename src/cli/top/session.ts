import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicNow } from '../../core/clock.ts'
import { MILLISECOND } from '../../core/duration.ts'
import { isVelvetRopeError } from '../../core/errors.ts'
import type { ScreenSize } from '../full-screen.ts'
import type { Key } from '../keyboard.ts'
import { type BucketLister, readTop, type TopBuckets } from './buckets.ts'
import { shortTime } from './cells.ts'
import { renderTop, rowsSeen } from './screen.ts'
import { clampOffset, press, queryOf, type TopState } from './state.ts'

export interface TopSessionOptions {
  readonly lister: BucketLister
  readonly screen: { readonly size: ScreenSize; draw(lines: readonly string[]): void }
  /** Where the line is: an address, without secrets. */
  readonly place: string
  readonly everyMs: number
  /** Milliseconds since the epoch, which never go back. Default: the clock of this process. */
  readonly now?: () => number
  /** Resolves after so long, or when the signal says so. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>
}

/** What came of a read. */
interface Outcome {
  readonly found?: TopBuckets
  readonly trouble?: string
}

/** The least that is read, so that the totals are of more than what is seen. */
const LEAST_READ = 200
const PATIENCE_MS = 1_000

/**
 * `top` while it lives: reads the buckets again and again, draws them, and does what keys say. A key that asks for other
 * buckets has them read at once. While nobody answers, what was read last stays on the screen, with its age.
 */
export class TopSession {
  readonly #options: Required<TopSessionOptions>
  #state: TopState
  #found: TopBuckets
  #readAt: number
  /** What the last read was for, whether it succeeded or not. */
  #readFor: string
  #trouble: string | undefined
  #nap = new AbortController()
  #isReading = false
  #hasEnded = false
  #onEnd = () => {}

  /** @param found what was read for `state` just now */
  constructor(state: TopState, found: TopBuckets, options: TopSessionOptions) {
    this.#options = { now: monotonicMs, wait, ...options }
    this.#state = state
    this.#found = found
    this.#readAt = this.#options.now()
    this.#readFor = this.#wish()
  }

  /** Runs until `end`, or until the reader leaves; the answer says how. @throws what is no error of ours */
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

  /** Draws what there is, and reads anew when that is not what is wanted. */
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
    this.#trouble = outcome.trouble
    // Meanwhile the reader may have asked for something else.
    if (outcome.found !== undefined && wish === this.#wish()) {
      this.#found = outcome.found
      this.#readAt = this.#options.now()
      this.#state = clampOffset(this.#state, this.#rows())
    }
    this.#draw()
  }

  /** Says how long it takes, when it does. Undefined: the session has ended meanwhile. */
  async #ask(): Promise<Outcome | undefined> {
    const { lister, now } = this.#options
    const startedAt = now()
    let outcome: Outcome | undefined
    const reading = readTop(lister, queryOf(this.#state), this.#wanted())
      .then(
        (found): Outcome => ({ found }),
        (error): Outcome => ({ trouble: troubleOf(error) }),
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
        this.#trouble = `no answer for ${shortTime(now() - startedAt)}`
        this.#draw()
      }
    } finally {
      this.#isReading = false
    }
    return outcome
  }

  /** Until the time or the nap is over. */
  async #sleep(ms: number): Promise<void> {
    this.#nap = new AbortController()
    await this.#options.wait(ms, this.#nap.signal)
  }

  #draw(): void {
    if (this.#hasEnded) return
    const { screen, place, now } = this.#options
    const trouble = this.#trouble && `${shortTime(now() - this.#readAt)} old: ${this.#trouble}`
    screen.draw(
      renderTop({ state: this.#state, found: this.#found, place, trouble, now: now() }, screen.size),
    )
  }

  #rows() {
    return { total: this.#found.total, seen: rowsSeen(this.#options.screen.size) }
  }

  /** How many buckets must be read to show what is scrolled to. */
  #wanted(): number {
    return Math.max(LEAST_READ, this.#state.offset + rowsSeen(this.#options.screen.size))
  }

  /** All that a read depends on. */
  #wish(): string {
    return JSON.stringify([queryOf(this.#state), this.#wanted()])
  }
}

/** @throws what is no error of ours */
function troubleOf(error: unknown): string {
  if (!isVelvetRopeError(error)) throw error
  return error.message
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}

function monotonicMs(): number {
  return monotonicNow() / MILLISECOND
}
