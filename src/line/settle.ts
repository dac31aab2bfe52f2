import { z } from 'zod'
import { describe } from '../core/describe.ts'
import { InvalidOptionsError, UnknownUnitError } from '../core/errors.ts'
import { parseOptions, recordOf } from '../core/options.ts'
import { LARGEST_COST } from '../core/quota-input.ts'
import { isUnit, UNIT_NAME } from '../core/unit.ts'
import type { Costs, Quotas } from '../core/usage.ts'
import type { Awaitable } from './awaitable.ts'

/** Counts what a start really used. Returns false after the first time, and once the start has ended. @throws UnknownUnitError */
export type Settle = (amounts: Costs) => Awaitable<boolean>

/** Asks from outside of its worker that an attempt of a job be settled. */
export interface SettleRequest {
  readonly id: string
  /** A key of the first segment of the job's key. Default: the job that took the id first. */
  readonly key?: string | undefined
  readonly which: WhichStart
  readonly amounts: Costs
}

/** The start of a job that is meant. Default: the one that runs. */
export interface WhichStart {
  /** Names one start alone. */
  readonly fence?: number | undefined
  /** The number of its attempt. Where an attempt of this number has started more than once, the fence is needed, too. */
  readonly attempt?: number | undefined
}

export const MOST_UNITS = 8

/** What a job counts in named units: up to 8 of them, whole numbers from `least` on. */
function unitsFrom(least: number) {
  const count = `expected a whole number from ${least} to ${LARGEST_COST}`
  return recordOf(
    z.string().refine(isUnit, `expected ${UNIT_NAME}`),
    z.int(count).min(least, count).max(LARGEST_COST, count),
    'expected an object such as { tokens: 1200 }',
    { most: MOST_UNITS, what: 'units' },
  )
}

/** Costs of a request, such as `{ tokens: 1200 }`. */
export const costsSchema = unitsFrom(1).transform(sorted)

/** What an attempt really took, such as `{ tokens: 812 }`: of one unit at least. */
export const amountsSchema = unitsFrom(0)

const givenSchema = z.strictObject({ amounts: amountsSchema })

/** Reads the argument of `settle`. @throws InvalidOptionsError */
export function readAmounts(input: unknown): Costs {
  const { amounts } = parseOptions(givenSchema, { amounts: input }, 'settle')
  if (Object.keys(amounts).length > 0) return amounts
  throw new InvalidOptionsError(`settle: expected an amount for a unit at least, got: ${describe(input)}`)
}

const namedSchema = z.strictObject({ costs: costsSchema })

/** Reads what a call counts in named units; undefined for nothing. @throws InvalidOptionsError */
export function readCosts(input: unknown, what: string): Costs | undefined {
  return parseOptions(namedSchema, { costs: input }, what).costs
}

/** @throws UnknownUnitError where no quota of the limit counts one of the units */
export function checkUnits(key: string, limit: Quotas, amounts: Costs): void {
  const [unknown] = uncountedUnits(limit, amounts)
  if (unknown !== undefined) throw new UnknownUnitError(key, unknown, unitsOf(limit))
}

/** Of the units that are named, those that no quota of the limit counts. */
export function uncountedUnits(limit: Quotas, amounts: Costs): string[] {
  const units = unitsOf(limit)
  return Object.keys(amounts).filter((unit) => !units.includes(unit))
}

function unitsOf({ quotas }: Quotas): string[] {
  return [...new Set(quotas.flatMap(({ unit }) => unit ?? []))]
}

/** In one order, so that equal costs are equal as text; undefined for none. */
function sorted(costs: Costs): Costs | undefined {
  const entries = Object.entries(costs)
  if (entries.length === 0) return undefined
  return Object.freeze(Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1))))
}
