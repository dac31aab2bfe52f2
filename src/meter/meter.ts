import { systemClock } from '../core/clock.ts'
import { quote } from '../core/describe.ts'
import { meterFillings } from '../core/diagnostics.ts'
import { InvalidLimitError, MeterClosedError } from '../core/errors.ts'
import { type HeapReport, HeapUse } from '../core/heap-use.ts'
import { checkKey } from '../core/key.ts'
import { EMPTY, fits, type MeterState, refusedForMs } from '../core/meter.ts'
import { allFit, type QuotaMeterState } from '../core/meter-quotas.ts'
import { nameOfQuota } from '../core/quota-input.ts'
import type { Costs } from '../core/usage.ts'
import { checkUnits } from '../line/settle.ts'
import { type Charge, chargesFor, readCharge } from './charge-input.ts'
import { CheckedMeterStore } from './checked-meter-store.ts'
import { MemoryMeterStore } from './memory-meter-store.ts'
import { type MeterLimits, type MeterRule, openMeterLimits } from './meter-limits.ts'
import {
  levelOf,
  type MeterForecast,
  type MeterLevel,
  type MeterReading,
  outcomeOf,
  quotaLevelOf,
  quotaOutcomeOf,
  quotaReadingOf,
  readingOf,
} from './meter-reading.ts'
import type { Filled, FillRequest, MeterStore, QuotaFillRequest, QuotaMeterVerbs } from './meter-store.ts'
import { type MeterOptions, type MeterSettings, parseMeterOptions } from './options.ts'
import { RedisMeterStore } from './redis-meter-store.ts'

const NOTHING_HERE: HeapReport = new HeapUse()

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
  readonly #inMemory: MemoryMeterStore | undefined
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
    this.#inMemory = this.#store instanceof MemoryMeterStore ? this.#store : undefined
    this.#clamp = settings.overflow === 'clamp'
    this.#block = settings.blockWhenFull ?? 0
    for (const rule of this.#limits.list()) if (rule.limit.quotas.length > 0) this.#quotaVerbs(rule)
  }

  /**
   * Adds the amount to the bucket of `key`, and charges the quotas of its limit, if there is room for all of it everywhere. Otherwise
   * nothing goes in, or with `overflow: 'clamp'` the part that fits into the bucket; it is refused either way, and with
   * `blockWhenFull` blocks the key.
   *
   * @param amount units of the bucket and of each quota without a unit, 0 or more; may be a fraction where no quota counts it.
   * Default: 1
   * @param costs units of other quotas, such as `{ tokens: 700 }`: whole numbers above 0. One that is not named counts as much as
   * the limit says for each, or nothing if the amount is 0
   * @throws InvalidKeyError, InvalidOptionsError, UnknownUnitError, NoLimitError, InvalidLimitError (of a limit that a meter or its
   * store cannot count) or MeterClosedError; then the store was not asked
   * @throws BackendUnavailableError if the store does not reply; whether the amount went in is then unknown
   * @throws UnfitRedisError; or ForeignValueError if the store holds a foreign value in that place, or returns an
   * invalid verdict
   */
  fill(key: string, amount?: number, costs?: Costs): Promise<MeterReading>
  /** The same with an amount of 1. */
  fill(key: string, costs: Costs): Promise<MeterReading>
  fill(key: string, units: number | Costs = 1, named?: Costs): Promise<MeterReading> {
    // An async function would cost a tenth of a fill in memory.
    try {
      const charge = this.#chargeOf(key, units, named, 'fill')
      const rule = this.#limits.resolve(key)
      if (rule.limit.quotas.length > 0) return this.#fillQuotas(rule, key, charge)
      const { amount, costs } = charge
      if (costs !== undefined) checkUnits(key, rule.limit, costs)
      const request = this.#requestFor(rule, key, amount)
      const filled = this.#store.fill(request)
      // An unnecessary microtask would cost a fifth of it.
      if (!('then' in filled)) return Promise.resolve(this.#readingOf(rule, filled, request))
      return Promise.resolve(filled).then((filled) => this.#readingOf(rule, filled, request))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Whether `fill` would accept that now; writes nothing. Another fill may come first. @throws as `fill` does */
  canAccept(key: string, amount?: number, costs?: Costs): Promise<boolean>
  canAccept(key: string, costs: Costs): Promise<boolean>
  async canAccept(key: string, units: number | Costs = 1, named?: Costs): Promise<boolean> {
    const charge = this.#chargeOf(key, units, named, 'canAccept')
    const rule = this.#limits.resolve(key)
    const fitsAt = this.#lookFor(rule, key, charge, 'canAccept')
    const { state, now } = await this.#read(rule, key)
    return fitsAt(state, now)
  }

  /** Returns the level of the bucket now, and what the quotas count; writes nothing. @throws as `fill` does */
  level(key: string): Promise<MeterLevel>
  /** The same, with whether `fill` would accept that at that instant. */
  level(key: string, amount: number, costs?: Costs): Promise<MeterForecast>
  level(key: string, costs: Costs): Promise<MeterForecast>
  async level(key: string, units?: number | Costs, named?: Costs): Promise<MeterLevel | MeterForecast> {
    const charge = this.#chargeOf(key, units === undefined ? 0 : units, named, 'level')
    const rule = this.#limits.resolve(key)
    const fitsAt = units === undefined ? undefined : this.#lookFor(rule, key, charge, 'level')
    const { state, now } = await this.#read(rule, key)
    const level = rule.limit.quotas.length > 0 ? quotaLevelOf(rule, state, now) : levelOf(rule, state, now)
    return Object.freeze(fitsAt ? Object.assign(level, { accepted: fitsAt(state, now) }) : level)
  }

  /** Empties the bucket and its quotas, and lifts a block. @throws as `fill` does, except NoLimitError */
  async drain(key: string): Promise<void> {
    this.#assertOpen()
    checkKey(key)
    await this.#store.drain({ name: this.name, key })
  }

  /** Estimates how many bytes of the heap of this process the levels of the first segment of a key use: 0 where they are stored elsewhere. */
  get heap(): HeapReport {
    return this.#inMemory?.use ?? NOTHING_HERE
  }

  /** Closes the meter: every verb throws afterwards. Resolves when all connections are closed; safe to call twice. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#isOwnStore) await this.#store.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #readingOf(rule: MeterRule, filled: Filled, request: FillRequest): MeterReading {
    const { accepted, state, now } = filled
    const reading = readingOf(rule, state, now, accepted, accepted ? 0 : refusedForMs(state, request, now))
    if (meterFillings.hasSubscribers) {
      const outcome = outcomeOf(filled, request)
      const { key, amount } = request
      meterFillings.publish({ meter: this.name, key, pattern: rule.pattern, amount, outcome })
    }
    return reading
  }

  async #fillQuotas(rule: MeterRule, key: string, charge: Charge): Promise<MeterReading> {
    const request = this.#quotaRequestFor(rule, key, charge, 'fill')
    const filled = await this.#quotaVerbs(rule).fill(request)
    const reading = quotaReadingOf(rule, filled, request)
    if (meterFillings.hasSubscribers) {
      const outcome = quotaOutcomeOf(filled, request, reading)
      meterFillings.publish({ meter: this.name, key, pattern: rule.pattern, ...charge, outcome })
    }
    return reading
  }

  /** Returns what says whether a state has room for the charge. */
  #lookFor(rule: MeterRule, key: string, charge: Charge, verb: string) {
    const request = this.#quotaRequestFor(rule, key, charge, verb)
    const hasQuotas = rule.limit.quotas.length > 0
    return (state: QuotaMeterState, now: number) =>
      hasQuotas ? allFit(state, request, now) : fits(state, request, now)
  }

  async #read(rule: MeterRule, key: string): Promise<{ state: MeterState; now: number }> {
    const verbs = rule.limit.quotas.length > 0 ? this.#quotaVerbs(rule) : this.#store
    const { state = EMPTY, now } = await verbs.read({ name: this.name, key })
    return { state, now }
  }

  /** @throws InvalidLimitError where the store has none: a quota that is not counted would let everything through */
  #quotaVerbs({ pattern, limit: { quotas } }: MeterRule): QuotaMeterVerbs {
    const verbs = this.#store.quotas
    if (verbs !== undefined) return verbs
    throw new InvalidLimitError(
      `the store of the meter ${quote(this.name)} counts no quotas: expected the limit of ${quote(pattern)} to be a capacity and a ` +
        `rate, got: ${quote(nameOfQuota(quotas[0]!))} as well; a PostgresMeterStore counts them with the option quotas: true`,
    )
  }

  #chargeOf(key: string, units: number | Costs, named: Costs | undefined, verb: string): Charge {
    this.#assertOpen()
    // One that has a level was checked when it came: that would cost a fifth of a fill in memory.
    if (this.#inMemory?.has(this.name, key) !== true) checkKey(key)
    return readCharge(units, named, verb)
  }

  #requestFor({ limit }: MeterRule, key: string, amount: number): FillRequest {
    const { capacity, interval } = limit
    return { name: this.name, key, amount, capacity, interval, clamp: this.#clamp, block: this.#block }
  }

  #quotaRequestFor(rule: MeterRule, key: string, charge: Charge, verb: string): QuotaFillRequest {
    const { quotas } = rule.limit
    const charges = chargesFor(rule, key, charge, verb)
    return { ...this.#requestFor(rule, key, charge.amount), quotas, charges }
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new MeterClosedError(this.name)
  }
}

function openStore(name: string, { connection, prefix, clock }: MeterSettings): MeterStore {
  if (connection === undefined) return new MemoryMeterStore(clock ?? systemClock)
  return new RedisMeterStore({ name, prefix, connection })
}
