import { createHash } from 'node:crypto'
import { z } from 'zod'
import { ForeignValueError, isVelvetRopeError } from '../../core/errors.ts'
import {
  type BaseOrigin,
  changeLayers,
  type Layer,
  LayeredBook,
  type RuleChange,
  type RuleLayers,
} from '../../core/layered-book.ts'
import { formatLimit } from '../../core/limit.ts'
import { parseRule, type Rule } from '../../core/rule-book.ts'

/** How many former layers are remembered, to tell a process that brings an old one from one that brings a new one. */
const MOST_FORMER = 100

/** Pairs of pattern and limit, because a record would put a pattern that is a number first. */
const rules = z.array(z.tuple([z.string(), z.string()]))
/** Grows with every change. */
const version = z.int().min(1)
/** Digests of layers that were replaced, the newest last. */
const former = z.array(z.string()).max(MOST_FORMER)

const schema = z.strictObject({
  schema: z.literal(2),
  version,
  /** What the newest code says, and the newest file. */
  code: rules,
  file: rules,
  /** What was set by hand; without a limit, what was unset. `at` is microseconds. */
  overrides: z.array(
    z.strictObject({
      pattern: z.string(),
      limit: z.string().optional(),
      by: z.string().optional(),
      at: z.number().optional(),
    }),
  ),
  former: z.strictObject({ code: former, file: former }),
})
type Text = z.output<typeof schema>

/** As it was before files were told from code. `rules` are all in force, `byHand` the patterns of overrides. */
const schemaOne = z.strictObject({
  schema: z.literal(1),
  version,
  rules,
  base: rules,
  byHand: z.array(z.string()),
  former,
})
const anySchema = z.discriminatedUnion('schema', [schema, schemaOne])

/** The rule book as Redis keeps it. */
export interface StoredBook {
  readonly version: number
  readonly layers: RuleLayers
  readonly former: Readonly<Record<BaseOrigin, readonly string[]>>
}

/** @throws ForeignValueError */
export function parseBook(text: string): StoredBook {
  try {
    const found = anySchema.parse(JSON.parse(text))
    const { version, code, file, overrides, former } = found.schema === 1 ? migrate(found) : found
    return {
      version,
      former,
      layers: {
        code: rulesOf(code),
        file: rulesOf(file),
        overrides: overrides.map(({ limit, ...override }) => ({
          ...override,
          limit: limit === undefined ? undefined : parseRule(override.pattern, limit).limit,
        })),
      },
    }
  } catch (error) {
    throw new ForeignValueError(
      `Redis holds something under our names that is not ours: the rule book: ${reasonOf(error)}`,
    )
  }
}

export function formatBook({ version, layers, former }: StoredBook): string {
  const { code, file, overrides } = layers
  const text: Text = {
    schema: 2,
    version,
    code: textOf(code),
    file: textOf(file),
    overrides: overrides.map(({ pattern, limit, by, at }) => ({
      pattern,
      limit: limit && formatLimit(limit),
      by,
      at,
    })),
    former: { code: [...former.code], file: [...former.file] },
  }
  return JSON.stringify(text)
}

export function firstBook(brought: Layer): StoredBook {
  return { version: 1, layers: LayeredBook.of(brought).layers, former: { code: [], file: [] } }
}

/** The book after the change; undefined when there is nothing to change. */
export function changeBook(book: StoredBook, change: RuleChange, at: number): StoredBook | undefined {
  const layers = changeLayers(book.layers, change, at)
  if (layers === undefined) return undefined
  const former =
    change.kind === 'load' ? { ...book.former, [change.origin]: formerOf(book, change) } : book.former
  return { version: book.version + 1, layers, former }
}

/** The book with the layer of newer code or a newer file; undefined when it has it already, or had it before. */
export function rebase(book: StoredBook, brought: Layer): StoredBook | undefined {
  return isFormer(book, brought) ? undefined : changeBook(book, { kind: 'load', ...brought }, 0)
}

/** Whether the layer was replaced before: it is older than that of the book. */
export function isFormer({ former }: StoredBook, { origin, rules }: Layer): boolean {
  return former[origin].includes(digest(rules))
}

/** What was loaded again is not former any more. */
function formerOf({ layers, former }: StoredBook, { origin, rules }: Layer): string[] {
  const brought = digest(rules)
  const others = former[origin].filter((known) => known !== brought)
  return [...others, digest(layers[origin])].slice(-MOST_FORMER)
}

function migrate({ version, rules, base, byHand, former }: z.output<typeof schemaOne>): Text {
  const limits = new Map(rules)
  const known = new Set([...rules, ...base].map(([pattern]) => pattern))
  const overrides = byHand
    .filter((pattern) => known.has(pattern))
    .map((pattern) => ({ pattern, limit: limits.get(pattern) }))
  return { schema: 2, version, code: base, file: [], overrides, former: { code: former, file: [] } }
}

function rulesOf(pairs: Text['code']): Rule[] {
  return pairs.map(([pattern, limit]) => parseRule(pattern, limit))
}

function textOf(rules: readonly Rule[]): Text['code'] {
  return rules.map(({ pattern, limit }) => [pattern, formatLimit(limit)])
}

function digest(rules: readonly Rule[]): string {
  const sorted = textOf(rules).sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha1').update(JSON.stringify(sorted)).digest('base64url')
}

function reasonOf(error: unknown): string {
  if (error instanceof z.ZodError) return z.prettifyError(error)
  return isVelvetRopeError(error) ? error.message : 'it is not JSON'
}
