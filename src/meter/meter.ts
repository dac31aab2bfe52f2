import { systemClock } from '../core/clock.ts'
import { describe } from '../core/describe.ts'
import { type FillOutcome, meterFillings } from '../core/diagnostics.ts'
import { MILLISECOND } from '../core/duration.ts'
import { InvalidOptionsError, MeterClosedError } from '../core/errors.ts'
import { type HeapReport, HeapUse } from '../core/heap-use.ts'
import { checkKey } from '../core/key.ts'
import {
  EMPTY,
  emptyIn,
  fits,
  isBlocked,
  isFull,
  levelAt,
  type MeterFill,
  type MeterState,
  refusedForMs,
  waitFor,
} from '../core/meter.ts'
import { CheckedMeterStore } from './checked-meter-store.ts'
import { MemoryMeterStore } from './memory-meter-store.ts'
import { type MeterLimits, type MeterRule, openMeterLimits } from './meter-limits.ts'
import type { Filled, FillRequest, MeterStore } from './meter-store.ts'
import { type MeterOptions, type MeterSettings, parseMeterOptions } from './options.ts'
import { RedisMeterStore } from './redis-meter-store.ts'

const NOTHING_HERE: HeapReport = new HeapUse()

/** The level of a bucket at one instant. Units are real numbers. */
export interface MeterLevel {
  readonly level: number
  /** Units that fit; 0 if the limit was lowered below the level. */
  readonly space: number
  /** The level has reached the capacity. It keeps leaking, so this is true only at that instant. */
  readonly full: boolean
  /** Every fill is refused, whatever fits: see the option `blockWhenFull`. */
  readonly blocked: boolean
  /** Milliseconds, perhaps a fraction, until the bucket is empty if no fill comes; at the rate of the last fill. */
  readonly emptyInMs: number
  readonly capacity: number
  /** Milliseconds, perhaps a fraction, in which one unit leaks. */
  readonly intervalMs: number
  /** The pattern of the rule that applies to the key. */
  readonly pattern: string
}

/** The level of a bucket, and whether an amount would fit. */
export interface MeterForecast extends MeterLevel {
  /** Whether the whole amount would fit now; another fill may come first. */
  readonly accepted: boolean
}

/** The result of a fill; the level is that after the fill. */
export interface MeterReading extends MeterLevel {
  /** The whole amount went in. */
  readonly accepted: boolean
  /**
   * 0 if accepted. Otherwise whole milliseconds, at least 1, after which the same fill is accepted, if no other came in
   * between. Infinity: it exceeds the capacity and is never accepted.
   */
  readonly retryAfterMs: number
}

/**
 * A named set of leaky buckets *as meters*: the other form of the bucket, which queues nothing. `fill` returns at once
 * whether the amount went in, which then leaks at the rate of the key. So a key gets at most its capacity at once, and
 * its rate in the long run: the verdicts are those of GCRA.
 *
 * Every verb fails closed: if the store does not reply, it throws within two seconds and accepts nothing.
 */
export class Meter {
  readonly name: string
  readonly #limits: MeterLimits
  readonly #store: MeterStore
  readonly #isOwnStore: boolean
  readonly #clamp: boolean
  readonly #block: number
  #isClosed = false

  /** @throws InvalidOptionsError, InvalidLimitError or InvalidKeyError */
  constructor(name: string, input: MeterOptions) {
    checkKey(name, 'name of the meter')
    const settings = parseMeterOptions(input)
    this.name = name
    this.#limits = openMeterLimits(settings.limits)
    this.#isOwnStore = settings.store === undefined
    this.#store =
      settings.store === undefined ? openStore(name, settings) : new CheckedMeterStore(settings.store)
    this.#clamp = settings.overflow === 'clamp'
    this.#block = settings.blockWhenFull ?? 0
  }

  /**
   * Adds the amount to the bucket of `key` if all of it fits. Otherwise nothing goes in, or with `overflow: 'clamp'`
   * the part that fits; it is refused either way, and with `blockWhenFull` blocks the key.
   *
   * @param amount units, 0 or more; may be a fraction
   * @throws InvalidKeyError, InvalidOptionsError, NoLimitError or MeterClosedError; then the store was not asked
   * @throws BackendUnavailableError if the store does not reply; whether the amount went in is then unknown
   * @throws UnfitRedisError; or ForeignValueError if the store holds a foreign value in that place, or returns an
   * invalid verdict
   */
  async fill(key: string, amount = 1): Promise<MeterReading> {
    const rule = this.#ruleFor(key, amount, 'fill')
    const request = this.#requestFor(rule, key, amount)
    const answer = this.#store.fill(request)
    // An unnecessary microtask would cost a fifth of a fill in memory.
    const filled = 'then' in answer ? await answer : answer
    const { accepted, state, now } = filled
    const waitMs = accepted ? 0 : refusedForMs(state, request, now)
    // Spreading the level into a literal would double the cost of a fill in memory.
    const reading = Object.freeze(
      Object.assign(levelOf(rule, state, now), { accepted, retryAfterMs: waitMs }),
    )
    if (meterFillings.hasSubscribers) {
      const { pattern } = rule
      meterFillings.publish({ meter: this.name, key, pattern, amount, outcome: outcomeOf(filled, request) })
    }
    return reading
  }

  /** Whether `fill` would accept the amount now; writes nothing. Another fill may come first. @throws as `fill` does */
  async canAccept(key: string, amount = 1): Promise<boolean> {
    const rule = this.#ruleFor(key, amount, 'canAccept')
    const { state = EMPTY, now } = await this.#store.read({ name: this.name, key })
    return fits(state, this.#requestFor(rule, key, amount), now)
  }

  /** Returns the level of the bucket now; writes nothing. @throws as `fill` does */
  level(key: string): Promise<MeterLevel>
  /** The same, with whether `fill` would accept the amount at that instant. */
  level(key: string, amount: number): Promise<MeterForecast>
  async level(key: string, amount?: number): Promise<MeterLevel | MeterForecast> {
    const rule = this.#ruleFor(key, amount, 'level')
    const { state = EMPTY, now } = await this.#store.read({ name: this.name, key })
    const level = levelOf(rule, state, now)
    if (amount === undefined) return Object.freeze(level)
    const accepted = fits(state, this.#requestFor(rule, key, amount), now)
    return Object.freeze(Object.assign(level, { accepted }))
  }

  /** Empties the bucket and lifts a block. @throws as `fill` does, except NoLimitError */
  async drain(key: string): Promise<void> {
    this.#assertOpen()
    checkKey(key)
    await this.#store.drain({ name: this.name, key })
  }

  /** Estimates how many bytes of the heap of this process the levels of the first segment of a key use: 0 where they are stored elsewhere. */
  get heap(): HeapReport {
    return this.#store instanceof MemoryMeterStore ? this.#store.use : NOTHING_HERE
  }

  /** Closes the meter: every verb throws afterwards. Resolves when all connections are closed; safe to call twice. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#isOwnStore) await this.#store.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #ruleFor(key: string, amount = 0, verb: string): MeterRule {
    this.#assertOpen()
    checkKey(key)
    if (!(Number.isFinite(amount) && amount >= 0)) {
      throw new InvalidOptionsError(
        `${verb}: expected amount to be a number of units, 0 or more, got: ${describe(amount)}`,
      )
    }
    return this.#limits.resolve(key)
  }

  #requestFor({ limit }: MeterRule, key: string, amount: number): FillRequest {
    const { capacity, interval } = limit
    return { name: this.name, key, amount, capacity, interval, clamp: this.#clamp, block: this.#block }
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new MeterClosedError(this.name)
  }
}

function openStore(name: string, { connection, prefix, clock }: MeterSettings): MeterStore {
  if (connection === undefined) return new MemoryMeterStore(clock ?? systemClock)
  return new RedisMeterStore({ name, prefix, connection })
}

function outcomeOf({ accepted, state, now }: Filled, request: MeterFill): FillOutcome {
  if (accepted) return 'accepted'
  if (waitFor(state, request, now) === Number.POSITIVE_INFINITY) return 'never-fits'
  // A block that begins now was caused by this fill.
  return isBlocked(state, now) && state.blockedUntil !== now + request.block ? 'blocked' : 'full'
}

function levelOf({ pattern, limit }: MeterRule, state: MeterState, now: number): MeterLevel {
  const { capacity, interval } = limit
  const level = levelAt(state, interval, now)
  return {
    level,
    space: Math.max(0, capacity - level),
    full: isFull(level, capacity),
    blocked: isBlocked(state, now),
    emptyInMs: emptyIn(state, now) / MILLISECOND,
    capacity,
    intervalMs: interval / MILLISECOND,
    pattern,
  }
}
