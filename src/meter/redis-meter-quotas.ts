import { monotonicNow } from '../core/clock.ts'
import { BackendUnavailableError, ForeignValueError } from '../core/errors.ts'
import { EMPTY, type MeterState } from '../core/meter.ts'
import { type QuotaMeterState, usesAt, withUses } from '../core/meter-quotas.ts'
import { boundsAt, isRolling } from '../core/quota.ts'
import type { Read } from '../redis/scripts/reply.ts'
import { defineScript, type Script } from '../redis/scripts/script.ts'
import type { MeterId, QuotaFilled, QuotaFillRequest, QuotaMeterVerbs, QuotaReading } from './meter-store.ts'
import { packCounts, unpackCounts, windowsText } from './stored-counts.ts'

const DOUBLE_BYTES = 8

interface Answer {
  readonly numbers: readonly number[]
  readonly counts: Buffer
}

/** So many packed doubles, and behind them what counts. */
function answer(size: number): Read<Answer> {
  return (values) => {
    const bytes = values.list[values.next++]
    if (!Buffer.isBuffer(bytes) || bytes.length < size * DOUBLE_BYTES) {
      throw new ForeignValueError('Redis answered what no script of this version does to a meter')
    }
    const numbers = Array.from({ length: size }, (_, index) => bytes.readDoubleLE(index * DOUBLE_BYTES))
    return { numbers, counts: bytes.subarray(size * DOUBLE_BYTES) }
  }
}

const fillScript = defineScript('meter-fill-quotas', import.meta.url, answer(6), { isBinary: true })
const readScript = defineScript('meter-read-quotas', import.meta.url, answer(5), { isBinary: true })

/** An answer that asks for other periods or counts is followed by one that has them, unless others change them again and again. */
const MOST_ATTEMPTS = 5
const NOTHING: Buffer = Buffer.alloc(0)

type Run = <Reply>(
  script: Script<Reply>,
  meter: MeterId,
  values: readonly (string | number | Buffer)[],
) => Promise<Reply>

/**
 * The verbs for limits with quotas: one script each. A script knows no calendar, so each fill brings the bounds of its periods by
 * the clock of Redis, as far as it is known here. Where the script finds that they are those of another time, or that the limit has
 * changed, it changes nothing, and the fill asks again with what the answer brought.
 */
export class RedisMeterQuotas implements QuotaMeterVerbs {
  /** Runs `ask` so that it is answered within two seconds. */
  readonly #inTime: <Reply>(ask: (run: Run) => Promise<Reply>) => Promise<Reply>
  /** By how much the clock of Redis is ahead. */
  #ahead = 0

  constructor(inTime: <Reply>(ask: (run: Run) => Promise<Reply>) => Promise<Reply>) {
    this.#inTime = inTime
  }

  fill(request: QuotaFillRequest, given?: number): Promise<QuotaFilled> {
    return this.#inTime(async (run) => {
      let now = given ?? monotonicNow() + this.#ahead
      let [before, instead] = [NOTHING, NOTHING]
      for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        const reply = await run(fillScript, request, valuesOf(request, given, now, before, instead))
        const { numbers, counts } = reply
        const [accepted, filledAt, level, at, blockedUntil, interval] = numbers as Sextet
        if (given === undefined) this.#ahead = filledAt - monotonicNow()
        if (accepted >= 0) {
          const uses = unpackCounts(counts)?.uses ?? []
          const state = withUses({ level, at, blockedUntil, interval }, request.quotas, uses)
          return { accepted: accepted === 1, state, now: filledAt }
        }
        now = filledAt
        before = counts
        const counted = unpackCounts(counts)
        const uses = counted && usesAt({ ...EMPTY, counted }, request, now)
        instead = uses === undefined ? NOTHING : packCounts(request.quotas, uses)
      }
      throw new BackendUnavailableError('the limit of the meter changes in several processes at once')
    })
  }

  read(meter: MeterId, given?: number): Promise<QuotaReading> {
    return this.#inTime(async (run) => {
      const { numbers, counts } = await run(readScript, meter, [given ?? ''])
      const [now, level, at, blockedUntil, interval] = numbers as Quintet
      const isEmpty = interval === 0 && counts.length === 0
      return { state: isEmpty ? undefined : stateOf({ level, at, blockedUntil, interval }, counts), now }
    })
  }
}

type Quintet = [number, number, number, number, number]
type Sextet = [...Quintet, number]

function stateOf(state: MeterState, packed: Buffer): QuotaMeterState {
  const { quotas = [], uses = [] } = unpackCounts(packed) ?? {}
  return withUses(state, quotas, uses)
}

function valuesOf(
  request: QuotaFillRequest,
  given: number | undefined,
  now: number,
  before: Buffer,
  instead: Buffer,
): (string | number | Buffer)[] {
  const { amount, capacity, interval, clamp, block, quotas, charges } = request
  const level = [given ?? '', amount, capacity, interval, clamp ? 1 : 0, block]
  const parts = quotas.flatMap((quota, index) => [
    quota.amount,
    charges[index]!,
    ...(isRolling(quota.window) ? [quota.window.length, 0, 0, 0, 0] : [0, ...boundsAt(quota, now)]),
  ])
  return [...level, windowsText(quotas), before, instead, ...parts]
}
