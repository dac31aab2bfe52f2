import type { Dispatcher } from 'undici'
import { describe } from '../core/describe.ts'
import { InvalidOptionsError } from '../core/errors.ts'

type GivenHeaders = ConstructorParameters<typeof Headers>[0]

/** A request as passed to the functions for its key and for what it counts. */
export interface OutgoingRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
}

/** The part of a fetch Request that is read, of any implementation. */
export interface RequestLike {
  readonly url: string
  readonly method: string
  readonly headers: GivenHeaders
  readonly signal?: unknown
  readonly body?: unknown
  clone(): RequestLike
}

export type FetchInput = string | URL | RequestLike
export type FetchInit = { readonly [Field in 'method' | 'headers' | 'signal' | 'body']?: unknown }

export function isRequest(input: FetchInput): input is RequestLike {
  return typeof input === 'object' && 'url' in input
}

/**
 * @throws InvalidOptionsError for values that cannot be an address, such as null, where fetch would request the URL
 * `null`
 */
export function checkInput(input: unknown): asserts input is FetchInput {
  if (typeof input === 'string' || (typeof input === 'object' && input !== null)) return
  throw new InvalidOptionsError(`shapedFetch: expected a URL or a Request, got: ${describe(input)}`)
}

/**
 * @throws TypeError for an invalid URL, as fetch does
 */
export function readFetch(input: FetchInput, init: FetchInit | undefined): OutgoingRequest {
  const request = isRequest(input) ? input : undefined
  return {
    method: String(init?.method ?? request?.method ?? 'GET').toUpperCase(),
    url: new URL(request?.url ?? String(input)),
    headers: new Headers((init?.headers as GivenHeaders) ?? request?.headers),
  }
}

/**
 * @throws InvalidOptionsError for a request without an origin: that of a single Client or Pool
 */
export function readDispatch(options: Dispatcher.DispatchOptions): OutgoingRequest {
  if (options.origin === undefined) {
    throw new InvalidOptionsError(
      'turnInterceptor: expected a dispatcher that gets the origin, as an Agent does, or a key that is a string, ' +
        'got: a request without an origin',
    )
  }
  return { method: options.method, url: urlOf(options.origin, options), headers: headersOf(options.headers) }
}

function urlOf(origin: string | URL, { path, query }: Dispatcher.DispatchOptions): URL {
  const base = new URL(origin)
  // Not resolved against the origin, because `//host` is a path here.
  const url = path.startsWith('/') ? new URL(base.origin + path) : base
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const one of [value].flat()) url.searchParams.append(name, String(one))
  }
  return url
}

/** Accepts an object, pairs, or names and values in turn. */
function headersOf(given: Dispatcher.DispatchOptions['headers']): Headers {
  const headers = new Headers()
  for (const [name, value] of pairsOf(given ?? {})) {
    for (const one of [value ?? []].flat()) headers.append(name, one)
  }
  return headers
}

type Pair = readonly [name: string, value: string | string[] | undefined]

function pairsOf(given: NonNullable<Dispatcher.DispatchOptions['headers']>): Iterable<Pair> {
  if (!(Symbol.iterator in given)) return Object.entries(given)
  const items: readonly (string | Pair)[] = [...given]
  const names = items.filter((item, index) => typeof item !== 'string' || index % 2 === 0)
  return names.map((item, index) =>
    typeof item === 'string' ? [item, items[index * 2 + 1] as string] : item,
  )
}
