import { createHash } from 'node:crypto'
import { z } from 'zod'
import { MILLISECOND } from '../../core/duration.ts'
import { ForeignValueError, isVelvetRopeError } from '../../core/errors.ts'
import type { ShaperEvents } from '../../core/events.ts'
import { assertVersion, LayeredBook } from '../../core/layered-book.ts'
import { parseStoredLimit } from '../../core/limit.ts'
import { formatLimit } from '../../core/limit-format.ts'
import { parseRule, type Rule } from '../../core/rule-book.ts'
import {
  type AuthoredRule,
  type Authorship,
  changeLayers,
  type Layer,
  type RuleChange,
  type RuleLayers,
} from '../../core/rule-layers.ts'
import { BASE_ORIGINS, type BaseOrigin } from '../../core/rule-view.ts'
import { anyText, type BookText, newest } from './stored-book-schemas.ts'

/** How many replaced layers are remembered, to recognize a process that still has one of them. */
const MOST_FORMER = 100
/** How many ids of changes are remembered; a process that lost the reply to its change retries within two seconds. */
const MOST_CHANGES = 20

/** A layer that a process replaced when it started. */
export type ReplacedLayer = Omit<ShaperEvents['limitsReplaced'][0], 'at'>

/** The rule book as Redis keeps it. */
export interface StoredBook {
  readonly version: number
  readonly layers: RuleLayers
  /** Who last set each layer, and when. */
  readonly setBy: Readonly<Partial<Record<BaseOrigin, Authorship>>>
  /** Digests of the layers that were replaced, the newest last. */
  readonly former: Readonly<Record<BaseOrigin, readonly string[]>>
  /** The ids of the latest changes, the newest last; they also make the text of every book unique. */
  readonly changes: readonly string[]
}

/** @throws ForeignValueError */
export function parseBook(text: string): StoredBook {
  try {
    const { version, layers, overrides, brought, former, changes } = newest(anyText.parse(JSON.parse(text)))
    return {
      version,
      setBy: brought,
      former,
      changes,
      layers: {
        ...byOrigin((origin) => layers[origin].map(ruleOf)),
        overrides: overrides.map(({ limit, ...override }) => ({
          ...override,
          limit: limit === undefined ? undefined : parseRule(override.pattern, limit, parseStoredLimit).limit,
        })),
      },
    }
  } catch (error) {
    throw new ForeignValueError(
      `Redis holds something under our names that is not ours: the rule book: ${reasonOf(error)}`,
    )
  }
}

export function formatBook({ version, layers, setBy, former, changes }: StoredBook): string {
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
    brought: setBy,
    former: byOrigin((origin) => [...former[origin]]),
    changes: [...changes],
  }
  return JSON.stringify(text)
}

/** The first rule book of a line. */
export function firstBook(layers: readonly Layer[], at: number): StoredBook {
  return {
    version: 1,
    layers: LayeredBook.of(layers, { at }).layers,
    setBy: Object.fromEntries(layers.map(({ origin, by }) => [origin, { by, at }])),
    former: byOrigin(() => []),
    changes: [],
  }
}

/** Returns the book after the change; undefined if there is nothing to change. @throws RuleBookConflictError */
export function changeBook(book: StoredBook, change: RuleChange, at: number): StoredBook | undefined {
  assertVersion(book.version, change)
  const layers = changeLayers(book.layers, change, at)
  if (layers === undefined) return undefined
  const changed = { ...book, version: book.version + 1, layers }
  if (change.kind !== 'load') return changed
  const { origin, by } = change
  return {
    ...changed,
    setBy: { ...book.setBy, [origin]: { by, at } },
    former: { ...book.former, [origin]: formerOf(book, change) },
  }
}

/** Adds the layers that the book never had. Returns undefined if each of them is in force, or was replaced. */
export function addNewLayers(book: StoredBook, own: readonly Layer[], at: number): StoredBook | undefined {
  return setLayers(
    book,
    own.filter((layer) => !isFormer(book, layer)),
    at,
  )
}

/** Sets the layers, including those that were replaced before. Returns undefined if all of them are in force. */
export function setLayers(book: StoredBook, own: readonly Layer[], at: number): StoredBook | undefined {
  let changed = book
  for (const layer of own) changed = changeBook(changed, { kind: 'load', ...layer }, at) ?? changed
  return changed === book ? undefined : { ...changed, version: book.version + 1 }
}

/** Returns the layers of `before` that differ in `after`, except those that were empty. */
export function replacedLayers(before: StoredBook, after: StoredBook): ReplacedLayer[] {
  return BASE_ORIGINS.flatMap((origin) => {
    const was = limitsOf(before.layers[origin])
    const is = limitsOf(after.layers[origin])
    const patterns = [...new Set([...was.keys(), ...is.keys()])]
    const others = patterns.filter((pattern) => was.get(pattern) !== is.get(pattern))
    if (was.size === 0 || others.length === 0) return []
    const { by, at } = before.setBy[origin] ?? {}
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

/** Adds the id of the change that led to this book. */
export function noteChange(book: StoredBook, id: string): StoredBook {
  return { ...book, changes: [...book.changes, id].slice(-MOST_CHANGES) }
}

/** Whether the layer was in the book and has been replaced. */
export function isFormer({ former }: StoredBook, { origin, rules }: Layer): boolean {
  return former[origin].includes(digest(rules))
}

/** Identifies a layer by its rules, independent of who set it and when. */
export function digest(rules: readonly Rule[]): string {
  const pairs = rules.map(({ pattern, limit }) => [pattern, formatLimit(limit)] as const)
  const sorted = pairs.sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha1').update(JSON.stringify(sorted)).digest('base64url')
}

/** The replaced layers after a load; the loaded one is no longer among them. */
function formerOf({ layers, former }: StoredBook, { origin, rules }: Layer): string[] {
  const loaded = digest(rules)
  const others = former[origin].filter((known) => known !== loaded)
  return [...others, digest(layers[origin])].slice(-MOST_FORMER)
}

function byOrigin<Value>(of: (origin: BaseOrigin) => Value): Record<BaseOrigin, Value> {
  return Object.fromEntries(BASE_ORIGINS.map((origin) => [origin, of(origin)])) as Record<BaseOrigin, Value>
}

function ruleOf({ pattern, limit, ...author }: BookText['layers'][BaseOrigin][number]): AuthoredRule {
  return { ...parseRule(pattern, limit, parseStoredLimit), ...author }
}

function reasonOf(error: unknown): string {
  if (error instanceof z.ZodError) return z.prettifyError(error)
  return isVelvetRopeError(error) ? error.message : 'it is not JSON'
}
