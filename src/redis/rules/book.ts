import { createHash } from 'node:crypto'
import { BackendUnavailableError } from '../../core/errors.ts'
import { isTotal } from '../../core/key.ts'
import type { LayeredBook } from '../../core/layered-book.ts'
import { hasParts, type Limit } from '../../core/limit.ts'
import { formatLimit } from '../../core/limit-format.ts'
import { nameOfQuota } from '../../core/quota-input.ts'
import type { Rule, TotalRule } from '../../core/rule-book.ts'
import { list, number, oneOf, text } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import { type KnownBook, PAGE, writeDraft } from './book-pages.ts'
import { formatBook, type StoredBook } from './stored-book.ts'

const reply = list(
  oneOf({ ok: { at: number, version: number, mark: text }, 'old-book': { version: number }, lost: {} }),
)
/** Puts a book in force in a shard; refused if the shard has a newer one. */
export const bookScript = defineScript('book', import.meta.url, reply)

/** A failover may lose what was written of a long book. */
const MOST_DRAFTS = 3

/** A book and its text. */
export interface WrittenBook extends KnownBook {
  readonly json: string
}

export function writtenBook(book: StoredBook): WrittenBook {
  const json = formatBook(book)
  return { ...knownBook(book.version, json), json }
}

export function knownBook(version: number, json: string): KnownBook {
  const digest = createHash('sha1').update(json).digest('base64url')
  return { version, digest, bytes: Buffer.byteLength(json) }
}

/** The rule book that a shard has, and the name of the shard, which changes when the shard loses its data. */
export interface ShardMark {
  readonly version: number
  readonly digest: string
  readonly name: string
}

/**
 * Writes the book into a shard. Returns undefined if the shard has a newer one.
 *
 * @param name a name for the shard, used if it has none
 * @param hasSeen whether this process has seen a book in the shard before
 * @throws BackendUnavailableError
 */
export async function writeBook(
  store: Store,
  shard: number,
  { version, json, digest, bytes }: WrittenBook,
  { name, hasSeen }: { readonly name: string; readonly hasSeen: boolean },
  now?: number,
): Promise<{ readonly at: number; readonly mark: ShardMark | undefined } | undefined> {
  const isLong = bytes > PAGE
  for (let drafts = 0; drafts < MOST_DRAFTS; drafts++) {
    const draft = isLong ? await writeDraft(store, shard, Buffer.from(json), now) : ''
    if (draft === undefined) continue
    const shared = [digest, name, hasSeen ? '1' : '0', store.shards]
    const values = [version, isLong ? '' : json, ...shared, draft, bytes]
    const found = await store.write(bookScript, shard, values, now)
    if (found.kind === 'old-book') return undefined
    if (found.kind === 'ok') return { at: found.at, mark: parseMark(found.mark) }
  }
  throw new BackendUnavailableError(
    `Redis is unavailable: it lost parts of the rule book ${MOST_DRAFTS} times`,
  )
}

/** Parses a mark as `book.lua` writes it. Returns undefined if there is none, or if it has another form. */
export function parseMark(mark: string | undefined): ShardMark | undefined {
  const [version, digest, name, ...others] = mark?.split(' ') ?? []
  if (version === undefined || !digest || !name || others.length > 0 || !/^\d+$/.test(version))
    return undefined
  return { version: Number(version), digest, name }
}

/** The rule of a key, or of the path of a total, and the totals that it is below; of a total, it is the last of them itself. */
export function ruledBy(
  book: Pick<LayeredBook, 'find' | 'totalsOf'>,
  name: string,
): { readonly rule: Rule; readonly totals: readonly TotalRule[] } | undefined {
  if (!isTotal(name)) {
    const rule = book.find(name)
    return rule && { rule, totals: book.totalsOf(name) }
  }
  const totals = book.totalsOf(name.slice(0, -1)).filter(({ path }) => path.length <= name.length)
  const rule = totals.at(-1)
  return rule?.path === name ? { rule, totals } : undefined
}

/** The rule of a key, as a verb passes it to its script, with the totals of the key; empty values if no rule applies. */
export function ruleValues(rule: Rule | undefined, totals: readonly TotalRule[] = []): (string | number)[] {
  if (rule === undefined) return ['', 0, 0, 0, 0, 0, '']
  const { pattern, limit } = rule
  return [pattern, ...paceValues(limit), ruleText(limit, totals)]
}

function paceValues({ capacity, interval, tolerance, warmUp, coldInterval }: Limit): number[] {
  return [capacity, interval, tolerance, warmUp, coldInterval]
}

/** The text of a limit with its further parts and, behind another line break, the weight of the bucket and its totals, the outermost first. */
export function ruleText(limit: Limit, totals: readonly TotalRule[]): string {
  const value = limitValue(limit)
  if (totals.length === 0) return value
  const chain = totals.map(({ path, pattern, limit: shared }) => [
    path,
    pattern,
    ...paceValues(shared),
    shared.weight,
    limitValue(shared),
  ])
  return `${value}\n${JSON.stringify([limit.weight, ...chain])}`
}

const VALUES = new WeakMap<Limit, string>()

/** The text of a limit and, behind a line break, its further parts as the scripts read them. */
export function limitValue(limit: Limit): string {
  if (!hasParts(limit)) return formatLimit(limit)
  const known = VALUES.get(limit)
  if (known !== undefined) return known
  const { quotas, concurrency } = limit
  const parts = quotas.map(({ window, ...quota }) => ({ ...quota, ...window }))
  const places = Number.isFinite(concurrency) ? { places: concurrency } : {}
  const value = `${formatLimit(limit)}\n${JSON.stringify({ quotas: parts, ...places })}`
  VALUES.set(limit, value)
  return value
}

/** The text of the quota of this number, from 1 on, of the limit of a key. */
export function quotaText(book: Pick<LayeredBook, 'find'>, key: string, number: number): string {
  const quota = book.find(key)?.limit.quotas[number - 1]
  return quota === undefined ? '' : nameOfQuota(quota)
}
