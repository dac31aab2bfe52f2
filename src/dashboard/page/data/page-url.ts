import { type BucketFilter, STATES } from './filter.ts'

/** The query of the table of buckets; the URL holds every part of it. */
export interface TableQuery extends BucketFilter {
  readonly sort: string
  readonly cursor?: string
}

export type View =
  | { readonly name: 'overview'; readonly query: TableQuery }
  | { readonly name: 'bucket'; readonly key: string }
  | { readonly name: 'family'; readonly path: string }
  | { readonly name: 'rules' }

export const DEFAULT_SORT = '-fill'
export const ROWS = 100

const SORT = /^-?[a-zA-Z]{1,30}$/
const LONGEST = 2_000

/** Reads the query of the page's own URL, and ignores invalid parts. */
export function readPageUrl(search: string): View {
  const params = new URLSearchParams(search)
  const key = textOf(params, 'bucket')
  if (key !== undefined) return { name: 'bucket', key }
  const path = textOf(params, 'family')
  if (path?.endsWith('/')) return { name: 'family', path }
  if (params.get('page') === 'rules') return { name: 'rules' }
  const sort = params.get('sort') ?? DEFAULT_SORT
  const state = STATES.find((known) => known === params.get('state'))
  const parts = {
    prefix: textOf(params, 'prefix'),
    minFill: numberOf(params, 'minFill', 1),
    maxFill: numberOf(params, 'maxFill'),
    state,
    minOldestWaitMs: numberOf(params, 'minOldestWaitMs'),
    pattern: textOf(params, 'pattern'),
    sort: SORT.test(sort) ? sort : DEFAULT_SORT,
    cursor: textOf(params, 'cursor'),
  }
  const said = Object.entries(parts).filter(([, value]) => value !== undefined)
  return { name: 'overview', query: { sort: DEFAULT_SORT, ...Object.fromEntries(said) } }
}

/** The query of the URL of a view, with its `?`; empty for the default overview. */
export function writePageUrl(view: View): string {
  const params = new URLSearchParams()
  if (view.name === 'bucket') params.set('bucket', view.key)
  else if (view.name === 'family') params.set('family', view.path)
  else if (view.name === 'rules') params.set('page', 'rules')
  else fill(params, view.query, view.query.sort === DEFAULT_SORT ? [] : [['sort', view.query.sort]])
  const text = params.toString()
  return text === '' ? '' : `?${text}`
}

/** The same query for the API, with the number of rows. */
export function writeTableQuery(query: TableQuery): string {
  const params = new URLSearchParams()
  fill(params, query, [
    ['sort', query.sort],
    ['limit', String(ROWS)],
  ])
  return params.toString()
}

/** The sort order after a click on a column's header: largest first, then the other way around. */
export function turnedSort(current: string, field: string, isText: boolean): string {
  const first = isText ? field : `-${field}`
  const second = isText ? `-${field}` : field
  return current === first ? second : first
}

function fill(
  params: URLSearchParams,
  { prefix, minFill, maxFill, state, minOldestWaitMs, pattern, cursor }: TableQuery,
  more: readonly (readonly [string, string])[],
): void {
  const parts = { prefix, minFill, maxFill, state, minOldestWaitMs, pattern }
  for (const [name, value] of Object.entries(parts)) {
    if (value !== undefined && value !== '') params.set(name, String(value))
  }
  for (const [name, value] of more) params.set(name, value)
  if (cursor !== undefined) params.set('cursor', cursor)
}

function textOf(params: URLSearchParams, name: string): string | undefined {
  const text = params.get(name)
  return text === null || text === '' || text.length > LONGEST ? undefined : text
}

function numberOf(params: URLSearchParams, name: string, most = Number.MAX_VALUE): number | undefined {
  const text = params.get(name)
  if (text === null || !/^\d+(\.\d+)?$/.test(text)) return undefined
  const number = Number(text)
  return number <= most ? number : undefined
}
