import { createHash } from 'node:crypto'
import { z } from 'zod'
import { ForeignValueError } from '../../core/errors.ts'
import { formatLimit } from '../../core/limit.ts'
import { RuleBook } from '../../core/rule-book.ts'

/** How many former books are remembered, to tell a process that brings an old one from one that brings a new one. */
const MOST_FORMER = 100

const rules = z.record(z.string(), z.string())
const schema = z.strictObject({
  schema: z.literal(1),
  /** Grows with every change. */
  version: z.int().min(1),
  /** What the newest code says. */
  base: rules,
  /** What was set and unset since, on top of it; null hides a rule of the base. */
  changes: z.record(z.string(), z.string().nullable()),
  /** Digests of bases that were replaced, the newest last. */
  former: z.array(z.string()).max(MOST_FORMER),
})

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

export function textOf(book: RuleBook): Record<string, string> {
  return Object.fromEntries(book.list().map(({ pattern, limit }) => [pattern, formatLimit(limit)]))
}

/** All rules in force. */
export function compile({ base, changes }: StoredBook): RuleBook {
  const book = new RuleBook(base)
  for (const [pattern, limit] of Object.entries(changes)) {
    if (limit === null) book.unset(pattern)
    else book.set(pattern, limit)
  }
  return book
}

export function firstBook(base: Record<string, string>): StoredBook {
  return { schema: 1, version: 1, base, changes: {}, former: [] }
}

/** The book with one rule set, or unset where `limit` is null. */
export function change(book: StoredBook, pattern: string, limit: string | null): StoredBook {
  const { [pattern]: _, ...others } = book.changes
  const isNeeded = limit !== null || pattern in book.base
  const changes = isNeeded ? { ...others, [pattern]: limit } : others
  return { ...book, version: book.version + 1, changes }
}

/** The book with the base that newer code brings; undefined when it is the same, or one that was replaced before. */
export function rebase(book: StoredBook, base: Record<string, string>): StoredBook | undefined {
  const replaced = digest(book.base)
  const brought = digest(base)
  if (brought === replaced || book.former.includes(brought)) return undefined
  return { ...book, version: book.version + 1, base, former: [...book.former, replaced].slice(-MOST_FORMER) }
}

/** Whether the code that brings `base` is older than the book. */
export function isFormer(book: StoredBook, base: Record<string, string>): boolean {
  return digest(base) !== digest(book.base) && book.former.includes(digest(base))
}

function digest(base: Record<string, string>): string {
  const sorted = Object.entries(base).sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha1').update(JSON.stringify(sorted)).digest('base64url')
}
