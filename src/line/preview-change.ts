import { setImmediate as passTurn } from 'node:timers/promises'
import { z } from 'zod'
import type { BucketView } from '../core/bucket-view.ts'
import { describe } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import { checkKey } from '../core/key.ts'
import { LayeredBook } from '../core/layered-book.ts'
import type { LimitInput } from '../core/limit.ts'
import type { LineView } from '../core/line-view.ts'
import { parseOptions } from '../core/options.ts'
import { parseRule } from '../core/rule-book.ts'
import { changeLayers, type RuleChange } from '../core/rule-layers.ts'
import type { RulePreview } from '../core/rule-view.ts'
import type { Awaitable } from './awaitable.ts'
import { PreviewCount } from './rule-preview.ts'

/** A change by hand, as `limits.set`, `limits.unset` or `limits.reset` would make it. */
export type PreviewedChange =
  | { readonly set: readonly [pattern: string, limit: LimitInput] }
  | { readonly unset: string }
  | { readonly reset: string }

/** What a preview reads, and does not write. */
export interface PreviewSource {
  readonly rules: LayeredBook
  /** Resolves when `rules` are the newest. */
  refresh(): Awaitable<void>
  /** All live buckets, some at a time. */
  survey(): AsyncIterable<readonly BucketView[]>
  /** The first jobs of a line. */
  line(key: string, limit: number): Awaitable<LineView | undefined>
}

/** Jobs of each sample whose costs are looked at. */
const MOST_LOOKED_AT = 200

const changeSchema = z.strictObject({
  set: z
    .custom<readonly [string, LimitInput]>((set) => Array.isArray(set) && set.length === 2, {
      error: "a pattern and a limit, such as ['stripe/*', '50, 5/s']",
    })
    .optional(),
  unset: z.custom<string>().optional(),
  reset: z.custom<string>().optional(),
})

/**
 * Compares a change with the live buckets, and changes nothing. Between two pages of buckets the event loop turns.
 *
 * @param sees whether the client may see the key; other buckets are neither returned nor counted
 * @throws InvalidKeyError, InvalidLimitError or InvalidOptionsError
 */
export async function previewChange(
  source: PreviewSource,
  input: PreviewedChange,
  sees: (key: string) => boolean,
): Promise<RulePreview> {
  const change = readChange(input)
  if (typeof sees !== 'function') {
    throw new InvalidOptionsError(
      `limits.preview: expected sees to be a function of a key, got: ${describe(sees)}`,
    )
  }
  await source.refresh()
  const before = source.rules
  const layers = changeLayers(before.layers, change, 0)
  const count = new PreviewCount(before, layers === undefined ? before : new LayeredBook(layers))
  for await (const page of source.survey()) {
    for (const view of page) if (sees(view.key)) count.add(view)
    await passTurn()
  }
  for (const key of count.sampled) {
    const line = await source.line(key, MOST_LOOKED_AT)
    if (line !== undefined) count.look(line)
  }
  return count.result(before.version)
}

function readChange(input: unknown): RuleChange {
  const given = parseOptions(changeSchema, input, 'limits.preview')
  const { set, unset, reset } = given
  const verbs = Object.entries(given).flatMap(([verb, value]) => (value === undefined ? [] : [verb]))
  if (verbs.length !== 1) {
    throw new InvalidOptionsError(
      `limits.preview: expected one of set, unset and reset, got: ${verbs.join(' and ') || 'none'}`,
    )
  }
  if (set !== undefined) return { kind: 'set', rule: parseRule(...set) }
  if (unset !== undefined) {
    checkKey(unset, 'pattern')
    return { kind: 'unset', pattern: unset }
  }
  checkKey(reset, 'pattern')
  return { kind: 'reset', pattern: reset }
}
