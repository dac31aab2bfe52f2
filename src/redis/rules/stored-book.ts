import { createHash } from 'node:crypto'
import { z } from 'zod'
import { MILLISECOND } from '../../core/duration.ts'
import { ForeignValueError, isVelvetRopeError } from '../../core/errors.ts'
import type { ShaperEvents } from '../../core/events.ts'
import {
  type AuthoredRule,
  type Authorship,
  assertVersion,
  changeLayers,
  type Layer,
  LayeredBook,
  type RuleChange,
  type RuleLayers,
} from '../../core/layered-book.ts'
import { formatLimit } from '../../core/limit.ts'
import { parseRule, type Rule } from '../../core/rule-book.ts'
import { BASE_ORIGINS, type BaseOrigin } from '../../core/rule-view.ts'
import { anyText, type BookText, newest } from './stored-book-schemas.ts'

/** How many former layers are remembered, to tell a process that brings an old one from one that brings a new one. */
const MOST_FORMER = 100
/** How many changes are remembered by their ids; whoever lost the answer to his own asks again within two seconds. */
const MOST_CHANGES = 20

/** A layer that a process replaced at its start. */
export type ReplacedLayer = Omit<ShaperEvents['limitsReplaced'][0], 'at'>

/** The rule book as Redis keeps it. */
export interface StoredBook {
  readonly version: number
  readonly layers: RuleLayers
  /** Who replaced a layer last, and when. */
  readonly brought: Readonly<Partial<Record<BaseOrigin, Authorship>>>
  readonly former: Readonly<Record<BaseOrigin, readonly string[]>>
  /** The ids of the newest changes, the last one last: no two books are the same text, whoever wrote them. */
  readonly changes: readonly string[]
}

/** @throws ForeignValueError */
export function parseBook(text: string): StoredBook {
  try {
    const { version, layers, overrides, brought, former, changes } = newest(anyText.parse(JSON.parse(text)))
    return {
      version,
      brought,
      former,
      changes,
      layers: {
        ...byOrigin((origin) => layers[origin].map(ruleOf)),
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

export function formatBook({ version, layers, brought, former, changes }: StoredBook): string {
  const text: BookText = {
    schema: 3,
    version,
    layers: byOrigin((origin) =>
      layers[origin].map(({ pattern, limit, by, at }) => ({ pattern, limit: formatLimit(limit), by, at })),
    ),
    overrides: layers.overrides.map(({ pattern, limit, by, at }) => ({
      pattern,
      limit: limit && formatLimit(limit),
      by,
      at,
    })),
    brought,
    former: byOrigin((origin) => [...former[origin]]),
    changes: [...changes],
  }
  return JSON.stringify(text)
}

/** Of a line that nobody has opened before. */
export function firstBook(brought: readonly Layer[], at: number): StoredBook {
  return {
    version: 1,
    layers: LayeredBook.of(brought, { at }).layers,
    brought: Object.fromEntries(brought.map(({ origin, by }) => [origin, { by, at }])),
    former: byOrigin(() => []),
    changes: [],
  }
}

/** The book after the change; undefined when there is nothing to change. @throws RuleBookConflictError */
export function changeBook(book: StoredBook, change: RuleChange, at: number): StoredBook | undefined {
  assertVersion(book.version, change)
  const layers = changeLayers(book.layers, change, at)
  if (layers === undefined) return undefined
  const changed = { ...book, version: book.version + 1, layers }
  if (change.kind !== 'load') return changed
  const { origin, by } = change
  return {
    ...changed,
    brought: { ...book.brought, [origin]: { by, at } },
    former: { ...book.former, [origin]: formerOf(book, change) },
  }
}

/** The book with the layers that it never had; undefined when each of them is in it, or was. */
export function rebase(book: StoredBook, brought: readonly Layer[], at: number): StoredBook | undefined {
  let rebased = book
  for (const layer of brought) {
    if (!isFormer(book, layer)) rebased = changeBook(rebased, { kind: 'load', ...layer }, at) ?? rebased
  }
  return rebased === book ? undefined : { ...rebased, version: book.version + 1 }
}

/** The book with the layers of a process that starts, whether or not it had them before; undefined when it has them now. */
export function start(book: StoredBook, brought: readonly Layer[], at: number): StoredBook | undefined {
  let started = book
  for (const layer of brought) started = changeBook(started, { kind: 'load', ...layer }, at) ?? started
  return started === book ? undefined : { ...started, version: book.version + 1 }
}

/** Which layers of a book another one has replaced; a layer that was empty was nobody's. */
export function replacedLayers(before: StoredBook, after: StoredBook): ReplacedLayer[] {
  return BASE_ORIGINS.flatMap((origin) => {
    const was = limitsOf(before.layers[origin])
    const is = limitsOf(after.layers[origin])
    const patterns = [...new Set([...was.keys(), ...is.keys()])]
    const others = patterns.filter((pattern) => was.get(pattern) !== is.get(pattern))
    if (was.size === 0 || others.length === 0) return []
    const { by, at } = before.brought[origin] ?? {}
    const limits = others.map((pattern) => {
      const [old, fresh] = [was.get(pattern), is.get(pattern)]
      return {
        pattern,
        ...(old !== undefined && { before: old }),
        ...(fresh !== undefined && { after: fresh }),
      }
    })
    return [
      {
        origin,
        ...(by !== undefined && { by }),
        ...(at !== undefined && { since: at / MILLISECOND }),
        limits,
      },
    ]
  })
}

function limitsOf(rules: readonly Rule[]): Map<string, string> {
  return new Map(rules.map(({ pattern, limit }) => [pattern, formatLimit(limit)]))
}

/** The book with the id of the change that it comes of. */
export function noteChange(book: StoredBook, id: string): StoredBook {
  return { ...book, changes: [...book.changes, id].slice(-MOST_CHANGES) }
}

/** Whether the layer was replaced before: it is older than that of the book. */
export function isFormer({ former }: StoredBook, { origin, rules }: Layer): boolean {
  return former[origin].includes(digest(rules))
}

/** Tells layers apart by what they say, whoever said it and when. */
export function digest(rules: readonly Rule[]): string {
  const pairs = rules.map(({ pattern, limit }) => [pattern, formatLimit(limit)] as const)
  const sorted = pairs.sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha1').update(JSON.stringify(sorted)).digest('base64url')
}

/** What was loaded again is not former any more. */
function formerOf({ layers, former }: StoredBook, { origin, rules }: Layer): string[] {
  const brought = digest(rules)
  const others = former[origin].filter((known) => known !== brought)
  return [...others, digest(layers[origin])].slice(-MOST_FORMER)
}

function byOrigin<Value>(of: (origin: BaseOrigin) => Value): Record<BaseOrigin, Value> {
  return Object.fromEntries(BASE_ORIGINS.map((origin) => [origin, of(origin)])) as Record<BaseOrigin, Value>
}

function ruleOf({ pattern, limit, ...author }: BookText['layers'][BaseOrigin][number]): AuthoredRule {
  return { ...parseRule(pattern, limit), ...author }
}

function reasonOf(error: unknown): string {
  if (error instanceof z.ZodError) return z.prettifyError(error)
  return isVelvetRopeError(error) ? error.message : 'it is not JSON'
}
