import { ForeignValueError } from '../core/errors.ts'
import type { MeterState } from '../core/meter.ts'
import { type QuotaMeterState, withUses } from '../core/meter-quotas.ts'
import type { Read } from '../redis/scripts/reply.ts'
import { defineScript, type Script } from '../redis/scripts/script.ts'
import type { MeterId, QuotaFilled, QuotaFillRequest, QuotaMeterVerbs, QuotaReading } from './meter-store.ts'
import { type AskAgain, type Attempt, QuotaAttempts } from './quota-attempts.ts'
import { packCounts, quotaNumbers, unpackCounts, windowsText } from './stored-counts.ts'

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

type Run = <Reply>(
  script: Script<Reply>,
  meter: MeterId,
  values: readonly (string | number | Buffer)[],
) => Promise<Reply>

/** The verbs for limits with quotas: one script each. */
export class RedisMeterQuotas implements QuotaMeterVerbs {
  /** Runs `ask` so that it is answered within two seconds. */
  readonly #inTime: <Reply>(ask: (run: Run) => Promise<Reply>) => Promise<Reply>
  readonly #attempts = new QuotaAttempts<Buffer>()

  constructor(inTime: <Reply>(ask: (run: Run) => Promise<Reply>) => Promise<Reply>) {
    this.#inTime = inTime
  }

  fill(request: QuotaFillRequest, given?: number): Promise<QuotaFilled> {
    return this.#inTime((run) =>
      this.#attempts.fill(request, given, async (attempt) => {
        const { numbers, counts } = await run(fillScript, request, valuesOf(request, given, attempt))
        return readAnswer(request, numbers as Sextet, counts)
      }),
    )
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

function readAnswer(
  request: QuotaFillRequest,
  [accepted, now, level, at, blockedUntil, interval]: Sextet,
  counts: Buffer,
): QuotaFilled | AskAgain<Buffer> {
  const counted = unpackCounts(counts)
  if (accepted < 0) return { now, kept: counts, counted }
  const state = withUses({ level, at, blockedUntil, interval }, request.quotas, counted?.uses ?? [])
  return { accepted: accepted === 1, state, now }
}

function stateOf(state: MeterState, packed: Buffer): QuotaMeterState {
  const { quotas = [], uses = [] } = unpackCounts(packed) ?? {}
  return withUses(state, quotas, uses)
}

function valuesOf(
  request: QuotaFillRequest,
  given: number | undefined,
  { now, carried }: Attempt<Buffer>,
): (string | number | Buffer)[] {
  const { amount, capacity, interval, clamp, block, quotas } = request
  const instead = carried === undefined ? ['', ''] : [carried.kept, packCounts(quotas, carried.uses)]
  const level = [given ?? '', amount, capacity, interval, clamp ? 1 : 0, block]
  return [...level, windowsText(quotas), ...instead, ...quotaNumbers(request, now)]
}
