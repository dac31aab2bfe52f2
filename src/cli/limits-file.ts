import { loadConfig } from '../config/load-config.ts'
import { describe, quote } from '../core/describe.ts'
import { InvalidInputError, InvalidOptionsError, isVelvetRopeError } from '../core/errors.ts'
import { isTotal } from '../core/key.ts'
import type { LimitInput } from '../core/limit.ts'
import { parseRule, RuleBook } from '../core/rule-book.ts'
import { readText } from './files.ts'

/** Totals that a note names. */
const MOST_NAMED = 3

/** The values of `--limit` and `--limits`. */
export interface LimitFlags {
  readonly limit?: string
  readonly limits?: string
}

/**
 * Reads the rule book of a command. `--limits` names a JSON file `{ "<pattern>": "<capacity>, <rate>" }`, or a YAML
 * configuration, of which only the limits count. `--limit` governs every key that no pattern of the file matches, and
 * overrides a `*` in it.
 *
 * @throws InvalidOptionsError when neither is given, InvalidInputError or InvalidConfigError for an invalid file
 */
export async function readLimits(flags: LimitFlags): Promise<RuleBook> {
  if (flags.limit === undefined && flags.limits === undefined) {
    throw new InvalidOptionsError(
      "expected --limit '<capacity>, <rate>' such as '20, 1/s', or --limits <file>",
    )
  }
  const book = flags.limits === undefined ? new RuleBook() : await readBook(flags.limits)
  if (flags.limit !== undefined) book.set('*', flags.limit)
  return book
}

async function readBook(file: string): Promise<RuleBook> {
  if (!/\.ya?ml$/i.test(file)) return parseLimits(file, await readText(file))
  const { limits } = await loadConfig({ file, env: {} })
  return new RuleBook(limits)
}

/** Reads limits from one word: a limit of every key, such as '50, 5/s', or else the name of a file. */
export async function readOtherLimits(word: string): Promise<RuleBook> {
  return readLimits(isLimit(word) ? { limit: word } : { limits: word })
}

/**
 * The same rule book with the rules of keys alone, for what takes each key by itself.
 *
 * @returns also the patterns of the totals that are left out
 */
export function withoutTotals(book: RuleBook): {
  readonly ofKeys: RuleBook
  readonly totals: readonly string[]
} {
  const totals = book
    .list()
    .map(({ pattern }) => pattern)
    .filter(isTotal)
  return { ofKeys: totals.reduce((rest, pattern) => rest.without(pattern), book), totals }
}

/** The first few patterns of totals, as a note names them. */
export function nameTotals(patterns: readonly string[]): string {
  const named = patterns.slice(0, MOST_NAMED).map(quote).join(', ')
  const more = patterns.length - MOST_NAMED
  return more > 0 ? `${named} and ${more} more` : named
}

/** The units of all quotas, such as `tokens`: what columns may name. */
export function unitsOf(books: readonly RuleBook[]): string[] {
  const limits = books.flatMap((book) => book.list().map(({ limit }) => limit))
  const units = limits.flatMap(({ quotas }) => quotas.flatMap(({ unit }) => unit ?? []))
  return [...new Set(units)]
}

function isLimit(text: string): boolean {
  try {
    parseRule('*', text)
    return true
  } catch (error) {
    if (isVelvetRopeError(error)) return false
    throw error
  }
}

function parseLimits(file: string, text: string): RuleBook {
  const blame = (offset: number, message: string): InvalidInputError => {
    const lines = text.slice(0, offset).split('\n')
    return new InvalidInputError({ file, line: lines.length, column: lines.at(-1)!.length + 1 }, message)
  }
  const limits = parseJson(text, blame)
  const book = new RuleBook()
  for (const [pattern, limit] of Object.entries(limits)) {
    try {
      book.set(pattern, limit as LimitInput)
    } catch (error) {
      if (!isVelvetRopeError(error)) throw error
      throw blame(Math.max(0, text.indexOf(JSON.stringify(pattern))), error.message)
    }
  }
  return book
}

function parseJson(text: string, blame: (offset: number, message: string) => Error): object {
  let value: unknown
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ' '))
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const position = /at position (\d+)/.exec(message)?.[1]
    const found = position === undefined ? text.length : Number(position)
    throw blame(found, `expected limits as JSON, { "<pattern>": "<capacity>, <rate>" }: ${message}`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw blame(0, `expected limits as JSON, { "<pattern>": "<capacity>, <rate>" }, got: ${describe(value)}`)
}
