import { describe } from './describe.ts'
import { InvalidLimitError } from './errors.ts'

const UNIT = /^[a-z][\w-]{0,31}$/i
/** Words of the syntax, which would make a limit ambiguous; `r` is for rates. */
const RESERVED = [
  'r',
  'per',
  'in',
  'at',
  'once',
  'each',
  'every',
  'from',
  'cost',
  'costs',
  'tolerance',
  'warm-up',
]
/** Units that mean the jobs themselves, which need no name. */
const JOBS = /^(?:jobs?|reqs?|requests?|calls?|messages?|msgs?|times)$/i

/** Whether a unit may have this name. */
export function isUnit(unit: unknown): unit is string {
  if (typeof unit !== 'string' || !UNIT.test(unit) || isReserved(unit)) return false
  // Every object inherits these, so that a job would seem to name them.
  return !(unit in Object.prototype)
}

/** What the name of a unit must be, in messages. */
export const UNIT_NAME =
  'a name of 1 to 32 letters, digits, _ and - that begins with a letter and is no word of the syntax'

/** Checks the name of a unit. @throws InvalidLimitError */
export function checkUnit(unit: unknown): string {
  if (isUnit(unit)) return unit
  throw new InvalidLimitError(`expected a unit to be ${UNIT_NAME}, got: ${describe(unit)}`)
}

/** Whether a unit means jobs, which quotas without a unit count. */
export function isWordForJobs(unit: string): boolean {
  return JOBS.test(unit)
}

/** Whether a word belongs to the syntax of limits. */
export function isReserved(word: string): boolean {
  return RESERVED.includes(word.toLowerCase())
}
