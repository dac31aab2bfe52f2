import { isVelvetRopeError } from '../core/errors.ts'
import { LARGER_UNIT, LARGEST_COST } from '../core/quota-input.ts'
import { toError } from '../core/thrown.ts'
import type { Costs } from '../core/usage.ts'
import type { ShapedJob } from '../line/shaped-job.ts'
import type { AnswerHeaders } from './answer.ts'
import type { Place } from './settings.ts'

/** Bytes of an answer in which amounts are looked for; those of a longer one stay estimated. */
export const READ_FOR_AMOUNTS = 1_048_576

/** Where an answer says what its call counted, by unit; names of headers in lower case. */
export type SettleRules = Readonly<Record<string, Place>>

/** Called with the unit that stays estimated, and why. */
export type OnUnsettled = (unit: string, reason: string) => void

/** An answer as far as it was read. */
interface ReadAnswer {
  readonly headers: AnswerHeaders
  readonly bytes: Buffer
  readonly truncated: boolean
}

/** The value of a body, or why it has none. */
interface ReadJson {
  readonly json?: unknown
  readonly fault?: string
}

/** Whether amounts are looked for in the bodies of answers. */
export function needsBody(rules: SettleRules): boolean {
  return Object.values(rules).some((place) => typeof place === 'string')
}

/**
 * Settles the job with the amounts that the answer names. The estimate stays where the answer names none, where the amount is no
 * whole number, and where the store is away: the call was made, so its job completes all the same.
 */
export async function settleBy(
  rules: SettleRules,
  answer: ReadAnswer,
  job: Pick<ShapedJob, 'settle'>,
  onUnsettled: OnUnsettled,
): Promise<void> {
  const amounts = amountsIn(rules, answer, onUnsettled)
  try {
    await settleKnown(job, amounts)
  } catch (error) {
    for (const unit of Object.keys(rules)) onUnsettled(unit, toError(error).message)
  }
}

/** Finds the amounts that the answer names. */
export function amountsIn(rules: SettleRules, answer: ReadAnswer, onUnsettled: OnUnsettled): Costs {
  const body: ReadJson = needsBody(rules) ? readJson(answer) : {}
  const amounts: Record<string, number> = {}
  for (const [unit, place] of Object.entries(rules)) {
    const isPath = typeof place === 'string'
    if (isPath && body.fault !== undefined) {
      onUnsettled(unit, body.fault)
      continue
    }
    const amount = isPath ? valueAt(body.json, place) : amountIn(answer.headers[place.header])
    if (isAmount(amount)) amounts[unit] = amount
    else {
      const where = isPath ? `at ${place}` : `in the header ${place.header}`
      const isLarge = Number.isInteger(amount) && Number(amount) > LARGEST_COST
      const got = isLarge ? `, got: ${amount}; ${LARGER_UNIT}` : ''
      onUnsettled(unit, `expected a whole number from 0 to ${LARGEST_COST} ${where}${got}`)
    }
  }
  return amounts
}

/** Reads the JSON of an answer of at most 1 MiB. */
export function readJson({ bytes, truncated }: Pick<ReadAnswer, 'bytes' | 'truncated'>): ReadJson {
  if (truncated || bytes.length > READ_FOR_AMOUNTS) {
    return { fault: `expected an answer of at most ${READ_FOR_AMOUNTS} bytes, got a longer one` }
  }
  const json = parseJson(bytes)
  return json === undefined ? { fault: 'expected an answer in JSON' } : { json }
}

/** A header that comes twice is a list, and says no one amount. */
function amountIn(value: string | string[] | undefined): number | undefined {
  return typeof value === 'string' && /^ *\d{1,10} *$/.test(value) ? Number(value) : undefined
}

/** The rules are for all keys; the limit of this one may count other units, or none. */
export async function settleKnown(job: Pick<ShapedJob, 'settle'>, amounts: Costs): Promise<void> {
  if (Object.keys(amounts).length === 0) return
  try {
    await job.settle(amounts)
  } catch (error) {
    if (!isVelvetRopeError(error, 'unknown-unit') || !('units' in error)) throw error
    const units = error.units as readonly string[]
    const known = Object.entries(amounts).filter(([unit]) => units.includes(unit))
    if (known.length > 0) await job.settle(Object.fromEntries(known))
  }
}

function isAmount(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= LARGEST_COST
}

function valueAt(answer: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (value, name) =>
        typeof value === 'object' && value !== null && Object.hasOwn(value, name)
          ? (value as Record<string, unknown>)[name]
          : undefined,
      answer,
    )
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}
