import { isVelvetRopeError } from '../core/errors.ts'
import { LARGEST_COST } from '../core/quota-input.ts'
import { toError } from '../core/thrown.ts'
import type { Costs } from '../core/usage.ts'
import type { ShapedJob } from '../line/shaped-job.ts'

/** Bytes of an answer in which amounts are looked for; those of a longer one stay estimated. */
export const READ_FOR_AMOUNTS = 1_048_576

/** By unit, where an answer says how much of it the call counted: `usage.total_tokens`. */
export type SettleRules = Readonly<Record<string, string>>

/** Called with the unit that stays estimated, and why. */
export type OnUnsettled = (unit: string, reason: string) => void

/** An answer as far as it was read. */
interface ReadAnswer {
  readonly bytes: Buffer
  readonly truncated: boolean
}

/**
 * Settles the job with the amounts that the answer names. The estimate stays where the answer names none, where the amount is no
 * whole number, and where the store is away: the call was made, so its job completes all the same.
 */
export async function settleBy(
  rules: SettleRules,
  { bytes, truncated }: ReadAnswer,
  job: Pick<ShapedJob, 'settle'>,
  onUnsettled: OnUnsettled,
): Promise<void> {
  const fail = (reason: string) => {
    for (const unit of Object.keys(rules)) onUnsettled(unit, reason)
  }
  if (truncated || bytes.length > READ_FOR_AMOUNTS) {
    return fail(`expected an answer of at most ${READ_FOR_AMOUNTS} bytes, got a longer one`)
  }
  const answer = parseJson(bytes)
  if (answer === undefined) return fail('expected an answer in JSON')
  const amounts: Record<string, number> = {}
  for (const [unit, path] of Object.entries(rules)) {
    const amount = valueAt(answer, path)
    if (isAmount(amount)) amounts[unit] = amount
    else onUnsettled(unit, `expected a whole number from 0 to ${LARGEST_COST} at ${path}`)
  }
  try {
    await settleKnown(job, amounts)
  } catch (error) {
    fail(toError(error).message)
  }
}

/** The rules are for all keys; the limit of this one may count other units, or none. */
async function settleKnown(job: Pick<ShapedJob, 'settle'>, amounts: Costs): Promise<void> {
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
