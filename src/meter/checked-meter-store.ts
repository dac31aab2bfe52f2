import { describe } from '../core/describe.ts'
import { BackendUnavailableError, ForeignValueError } from '../core/errors.ts'
import type { MeterState } from '../core/meter.ts'
import type { QuotaMeterState } from '../core/meter-quotas.ts'
import { settlesWithin } from '../core/within.ts'
import type { Awaitable } from '../line/awaitable.ts'
import type {
  Filled,
  FillRequest,
  MeterId,
  MeterStore,
  QuotaFilled,
  QuotaFillRequest,
  QuotaMeterVerbs,
  QuotaReading,
  Reading,
} from './meter-store.ts'

/** Callers get a result within two seconds; some of that is reserved for the way back. */
const PATIENCE_MS = 1_900

/**
 * Checks the results of a user's store: one that does not reply in time counts as unavailable, and an invalid verdict
 * accepts nothing.
 */
export class CheckedMeterStore implements MeterStore {
  readonly #store: MeterStore
  readonly quotas: QuotaMeterVerbs | undefined

  constructor(store: MeterStore) {
    this.#store = store
    this.quotas = store.quotas && checkedQuotas(store.quotas)
  }

  fill(request: FillRequest): Awaitable<Filled> {
    const answer = this.#store.fill(request)
    return isPromise(answer) ? inTime(answer).then(checkFilled) : checkFilled(answer)
  }

  read(meter: MeterId): Awaitable<Reading> {
    const answer = this.#store.read(meter)
    return isPromise(answer) ? inTime(answer).then(checkReading) : checkReading(answer)
  }

  async drain(meter: MeterId): Promise<void> {
    await inTime(Promise.resolve(this.#store.drain(meter)))
  }

  /** The store belongs to the user and stays open. */
  async close(): Promise<void> {}
}

function checkedQuotas(verbs: QuotaMeterVerbs): QuotaMeterVerbs {
  return {
    fill: async (request) => {
      const filled = await inTime(Promise.resolve(verbs.fill(request)))
      return checkCharged(checkFilled(filled), request)
    },
    read: async (meter) => {
      const reading: QuotaReading = checkReading(await inTime(Promise.resolve(verbs.read(meter))))
      if (reading.state !== undefined) checkCounted('quotas.read', reading.state)
      return reading
    },
  }
}

/** A store that ignores the quotas would let everything through. */
function checkCharged(filled: QuotaFilled, { quotas, charges }: QuotaFillRequest): QuotaFilled {
  const { accepted, state } = filled
  checkCounted('quotas.fill', state)
  const { counted } = state
  if (accepted && counted === undefined && charges.some((units) => units > 0)) {
    wrong('quotas.fill', 'to return what the quotas count', counted)
  }
  if (counted !== undefined && counted.quotas.length !== quotas.length) {
    wrong('quotas.fill', `to return what ${quotas.length} quotas count`, counted.quotas)
  }
  return filled
}

function checkCounted(verb: string, { counted }: QuotaMeterState): void {
  if (counted === undefined) return
  const { quotas, uses } = isObject(counted)
    ? counted
    : wrong(verb, 'to return counted as an object', counted)
  if (!(Array.isArray(quotas) && Array.isArray(uses) && quotas.length === uses.length)) {
    wrong(verb, 'to return as many uses as quotas', uses)
  }
  for (const use of uses) {
    const numbers = [use?.ends, use?.used]
    const isWhole = numbers.every((list) => Array.isArray(list) && list.every(Number.isFinite))
    if (!(isWhole && use.ends.length === use.used.length)) {
      wrong(verb, 'to return uses with as many ends as used', use)
    }
  }
}

async function inTime<Answer>(answer: Promise<Answer>): Promise<Answer> {
  if (await settlesWithin(PATIENCE_MS, answer)) return answer
  throw new BackendUnavailableError(
    `the store of the meter is unavailable: no response within ${PATIENCE_MS} ms`,
  )
}

function checkFilled(answer: Filled): Filled {
  const { accepted, state, now } = isObject(answer) ? answer : wrong('fill', 'to return an object', answer)
  if (typeof accepted !== 'boolean') wrong('fill', 'to return accepted as true or false', accepted)
  checkNow('fill', now)
  checkState('fill', state)
  return answer
}

function checkReading(answer: Reading): Reading {
  const { state, now } = isObject(answer) ? answer : wrong('read', 'to return an object', answer)
  checkNow('read', now)
  if (state !== undefined) checkState('read', state)
  return answer
}

function checkNow(verb: string, now: unknown): void {
  if (!Number.isFinite(now)) wrong(verb, 'to return now as a time in microseconds', now)
}

const FIELDS = ['level', 'at', 'blockedUntil', 'interval'] as const

function checkState(verb: string, state: MeterState): void {
  if (!isObject(state)) wrong(verb, 'to return a state', state)
  for (const field of FIELDS) {
    if (!(Number.isFinite(state[field]) && state[field] >= 0)) {
      wrong(verb, `to return a state with a number for ${field}, 0 or more`, state[field])
    }
  }
}

function wrong(verb: string, expected: string, got: unknown): never {
  throw new ForeignValueError(`the store of the meter: expected ${verb} ${expected}, got: ${describe(got)}`)
}

function isPromise<Answer>(answer: Awaitable<Answer>): answer is Promise<Answer> {
  return isObject(answer) && 'then' in answer
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
