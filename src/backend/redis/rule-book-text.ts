import { createHash } from 'node:crypto'
import { z } from 'zod'
import { ForeignValueError } from '../../core/errors.ts'
import { formatLimit } from '../../core/limit.ts'
import { RuleBook } from '../../core/rule-book.ts'

/** How many former books are remembered, to tell a process that brings an old one from one that brings a new one. */
const MOST_FORMER = 100

/** Pairs, because a record would put a pattern that is a number first. */
const rules = z.array(z.tuple([z.string(), z.string()]))
const schema = z.strictObject({
  schema: z.literal(1),
  /** Grows with every change. */
  version: z.int().min(1),
  /** What is in force: pattern and limit, in the order in which the patterns were first set. */
  rules,
  /** What the newest code says. */
  base: rules,
  /** Patterns that were set or unset by hand: there the code has no say any more. */
  byHand: z.array(z.string()),
  /** Digests of bases that were replaced, the newest last. */
  former: z.array(z.string()).max(MOST_FORMER),
})

type Rules = z.output<typeof rules>

/** The rule book as it is kept in Redis: patterns and limits as text. */
export type StoredBook = Readonly<z.output<typeof schema>>

/** @throws ForeignValueError */
export function parseBook(text: string): StoredBook {
  try {
    return schema.parse(JSON.parse(text))
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : 'it is not JSON'
    throw new ForeignValueError(
      `Redis holds something under our names that is not ours: the rule book: ${why}`,
    )
  }
}

export function textOf(book: RuleBook): Rules {
  return book.list().map(({ pattern, limit }) => [pattern, formatLimit(limit)])
}

/** All rules in force. */
export function compile({ rules }: StoredBook): RuleBook {
  const book = new RuleBook()
  for (const [pattern, limit] of rules) book.set(pattern, limit)
  return book
}

export function firstBook(base: Rules): StoredBook {
  return { schema: 1, version: 1, rules: base, base, byHand: [], former: [] }
}

/** The book with one rule set, or unset where `limit` is undefined. */
export function change(book: StoredBook, pattern: string, limit: string | undefined): StoredBook {
  const byHand = book.byHand.includes(pattern) ? book.byHand : [...book.byHand, pattern]
  const isKnown = book.rules.some(([known]) => known === pattern)
  const others = book.rules.filter(([known]) => known !== pattern)
  let rules = others
  if (limit !== undefined) {
    rules = isKnown
      ? book.rules.map(([known, old]) => [known, known === pattern ? limit : old])
      : [...others, [pattern, limit]]
  }
  return { ...book, version: book.version + 1, rules, byHand }
}

/** The book with the base that newer code brings; undefined when it is the same, or one that was replaced before. */
export function rebase(book: StoredBook, base: Rules): StoredBook | undefined {
  const replaced = digest(book.base)
  const brought = digest(base)
  if (brought === replaced || book.former.includes(brought)) return undefined
  const isByHand = ([pattern]: Rules[number]) => book.byHand.includes(pattern)
  const rules = [...base.filter((rule) => !isByHand(rule)), ...book.rules.filter(isByHand)]
  const former = [...book.former, replaced].slice(-MOST_FORMER)
  return { ...book, version: book.version + 1, rules, base, former }
}

/** Whether the code that brings `base` is older than the book. */
export function isFormer(book: StoredBook, base: Rules): boolean {
  return digest(base) !== digest(book.base) && book.former.includes(digest(base))
}

function digest(base: Rules): string {
  const sorted = base.toSorted(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha1').update(JSON.stringify(sorted)).digest('base64url')
}
