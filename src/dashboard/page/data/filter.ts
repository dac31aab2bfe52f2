import type { BucketState } from '../../../core/bucket-view.ts'
import { parseDuration, writeDuration } from './duration.ts'

/** Which buckets to show, with the field names of the API. Fills are shares: 0.5 is 50%. */
export interface BucketFilter {
  readonly prefix?: string
  readonly minFill?: number
  readonly maxFill?: number
  readonly state?: BucketState
  readonly minOldestWaitMs?: number
  readonly pattern?: string
}

export type FilterReading =
  | { readonly isGood: true; readonly filter: BucketFilter }
  | { readonly isGood: false; readonly fault: string }

/** A record, so that a state that is left out does not compile: the page imports only types, and so needs a list of its own. */
const EVERY_STATE: Readonly<Record<BucketState, true>> = {
  idle: true,
  waiting: true,
  full: true,
  frozen: true,
  paused: true,
}
export const STATES = Object.keys(EVERY_STATE) as BucketState[]

/** The API has only "at least" and "at most"; this difference turns them into "more than" and "less than". */
const EDGE = 1e-6

const COMPARISON = /(fill|wait)\s*(>=|<=|>|<|=|:)\s*(\S*)(?:\s+(%)(?=\s|$))?/iy
const FIELD = /(state|pattern)\s*:\s*("(?:[^"\\]|\\.)*"|\S*)/iy
const QUOTED = /"((?:[^"\\]|\\.)*)"/y
const WORD = /\S+/y
/** Other names for the fields, for suggestions. */
const MEANT: Readonly<Record<string, string>> = {
  status: 'state',
  is: 'state',
  rule: 'pattern',
  limit: 'pattern',
}
const OTHER_NAME = /(status|is|rule|limit):(\S*)/iy

type Draft = { -readonly [Field in keyof BucketFilter]: BucketFilter[Field] }

/**
 * Parses the text of the filter box: terms in any order, and at most one other word, the prefix of the keys.
 *
 * | term                                | shows                                             |
 * |-------------------------------------|---------------------------------------------------|
 * | `fill > 50%`, `fill <= 20%`         | buckets above or below a fill                     |
 * | `wait > 30s`                        | buckets whose oldest job has waited this long     |
 * | `state:frozen`                      | buckets in a state                                |
 * | `pattern:stripe/*`                  | buckets under this rule                           |
 * | `twilio/acme`, `"my key"`           | buckets whose key begins with this                |
 */
export function parseFilter(text: string): FilterReading {
  const draft: Draft = {}
  let at = skipSpace(text, 0)
  while (at < text.length) {
    const term = readTerm(text, at, draft)
    if ('fault' in term) return { isGood: false, fault: term.fault }
    const [field] = Object.keys(term.said) as (keyof BucketFilter)[]
    if (draft[field!] !== undefined) return { isGood: false, fault: twice(field!, draft) }
    Object.assign(draft, term.said)
    at = skipSpace(text, term.end)
  }
  const { minFill = 0, maxFill = Number.POSITIVE_INFINITY } = draft
  if (minFill > maxFill) return { isGood: false, fault: 'expected a minimum fill below the maximum' }
  return { isGood: true, filter: draft }
}

/** Text that `parseFilter` reads as this filter. */
export function formatFilter(filter: BucketFilter): string {
  const { prefix, minFill, maxFill, state, minOldestWaitMs, pattern } = filter
  const parts: string[] = []
  if (prefix !== undefined && prefix !== '') parts.push(isPlain(prefix) ? prefix : quoteText(prefix))
  if (minFill !== undefined) parts.push(`fill ${formatShare(minFill, '>', 1)}`)
  if (maxFill !== undefined) parts.push(`fill ${formatShare(maxFill, '<', -1)}`)
  if (state !== undefined) parts.push(`state:${state}`)
  if (minOldestWaitMs !== undefined) parts.push(`wait > ${writeDuration(minOldestWaitMs)}`)
  if (pattern !== undefined) parts.push(`pattern:${/[\s"]/.test(pattern) ? quoteText(pattern) : pattern}`)
  return parts.join(' ')
}

type Term = { readonly said: BucketFilter; readonly end: number } | { readonly fault: string }

function readTerm(text: string, at: number, draft: BucketFilter): Term {
  const comparison = match(COMPARISON, text, at)
  if (comparison !== null) {
    const [whole, field = '', sign = '', value = '', percent = ''] = comparison
    const end = at + whole.length
    return field.toLowerCase() === 'fill'
      ? readFill(sign, value + percent, end)
      : readWait(sign, text, value, end)
  }
  const field = match(FIELD, text, at)
  if (field !== null) return readField(field[1]!.toLowerCase(), unquote(field[2]!), at + field[0].length)
  const [, name, said] = match(OTHER_NAME, text, at) ?? []
  if (name !== undefined) {
    return {
      fault: `did you mean ${MEANT[name.toLowerCase()]}:${said}? Write "${name}:${said}" for keys that begin with it`,
    }
  }
  const quoted = match(QUOTED, text, at)
  if (quoted !== null) return { said: { prefix: unquote(quoted[0]) }, end: at + quoted[0].length }
  const [word] = match(WORD, text, at)!
  if (word.startsWith('"')) return { fault: 'expected a closing "' }
  const hint = draft.prefix === 'fill' || draft.prefix === 'wait' ? `${draft.prefix} > ${word}` : undefined
  if (hint !== undefined) return { fault: `did you mean ${hint}?` }
  return { said: { prefix: word }, end: at + word.length }
}

function readFill(sign: string, value: string, end: number): Term {
  const number = /^(\d+(?:\.\d+)?)%$/.exec(value)?.[1]
  if (sign === '=' || sign === ':') return { fault: `expected fill > or fill <, got: fill ${sign}` }
  if (number === undefined) {
    return { fault: `expected a percentage such as fill ${sign} 50%, got: ${value || 'nothing'}` }
  }
  const share = exactly(Number(number) / 100)
  if (sign === '<=') return { said: { maxFill: share }, end }
  if (sign === '<') {
    return share > 0
      ? { said: { maxFill: exactly(share - EDGE) }, end }
      : { fault: 'expected fill < to be above 0%' }
  }
  const minFill = sign === '>' ? exactly(share + EDGE) : share
  if (minFill > 1) return { fault: 'expected at most fill >= 100%; state:full shows the full buckets' }
  return { said: { minFill }, end }
}

/** Rounds away binary fractions, which would show in the URL. */
function exactly(share: number): number {
  return Math.round(share * 1e9) / 1e9
}

function readWait(sign: string, text: string, value: string, end: number): Term {
  if (sign !== '>' && sign !== '>=') return { fault: `expected wait >, got: wait ${sign}` }
  // The unit may be separate: `wait > 30 s`.
  const apart = /^\d/.test(value) ? /\s+(?:ms|s|m|h|d)(?=\s|$)/iy : undefined
  const unit = apart === undefined ? null : match(apart, text, end)
  const ms = parseDuration(value + (unit?.[0] ?? ''))
  if (ms === undefined) return { fault: `expected a time such as wait > 30s, got: ${value || 'nothing'}` }
  return { said: { minOldestWaitMs: ms }, end: end + (unit?.[0].length ?? 0) }
}

function readField(field: string, value: string, end: number): Term {
  if (field === 'pattern') {
    return value === ''
      ? { fault: 'expected a pattern such as pattern:stripe/*' }
      : { said: { pattern: value }, end }
  }
  const state = STATES.find((known) => known === value.toLowerCase())
  if (state !== undefined) return { said: { state }, end }
  return { fault: `expected a state of ${STATES.join(', ')}, got: ${value || 'nothing'}` }
}

function twice(field: keyof BucketFilter, draft: BucketFilter): string {
  if (field !== 'prefix') return `expected ${NAMES[field]} once`
  return `expected one key prefix, got two; the first is ${draft.prefix}. Put a prefix with spaces in "..."`
}

const NAMES: Readonly<Record<Exclude<keyof BucketFilter, 'prefix'>, string>> = {
  minFill: 'fill >',
  maxFill: 'fill <',
  state: 'state:',
  minOldestWaitMs: 'wait >',
  pattern: 'pattern:',
}

function formatShare(share: number, sign: '>' | '<', direction: 1 | -1): string {
  const edge = share - direction * EDGE
  // `>` is written with at most three decimals.
  const rounded = Math.round(edge * 1e5) / 1e5
  const isOpen = Math.abs(edge - rounded) < EDGE / 100
  return isOpen ? `${sign} ${percent(rounded)}` : `${sign}= ${percent(share)}`
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(6))}%`
}

function isPlain(prefix: string): boolean {
  const reading = parseFilter(prefix)
  return reading.isGood && reading.filter.prefix === prefix && Object.keys(reading.filter).length === 1
}

function quoteText(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

function unquote(text: string): string {
  return text.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text
}

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

function skipSpace(text: string, from: number): number {
  let at = from
  while (at < text.length && /\s/.test(text[at]!)) at++
  return at
}
