import type { z } from 'zod'
import { quote } from '../core/describe.ts'
import { check, faultsOfValue } from './body-faults.ts'
import { scanJson } from './json-scan.ts'
import { invalid, Problem } from './problem.ts'
import type { Call, RouteContext } from './route.ts'
import { unitsOf } from './token-rate.ts'

/** Characters; the work for a longer body waits for its turn of the event loop. */
const LONG = 16_384

interface BodyOptions {
  /** Bytes. */
  readonly most?: number
  /** JSON to assume for an empty body. Default: a body is required. */
  readonly whenAbsent?: string
}

/**
 * Reads a body of JSON and validates it. It does not count as in flight while it is read.
 *
 * @throws Problem 400, 413, 415, 422, 429 or 503
 */
export async function readRequest<Schema extends z.ZodType>(
  { settings, overload, turns }: RouteContext,
  { context, principal, count }: Pick<Call, 'context' | 'principal' | 'count'>,
  schema: Schema,
  { most = settings.bodyLimitBytes, whenAbsent }: BodyOptions = {},
): Promise<z.output<Schema>> {
  const { text, bytes } = await overload.whileReading(
    () => readText(context.req.raw, most, whenAbsent),
    principal,
  )
  count(unitsOf(bytes))
  const mayGoOn = async () => (text.length <= LONG ? undefined : turns.next(principal.name))
  await mayGoOn()
  const value = parseText(text, settings.maxValues)
  await mayGoOn()
  const faults = faultsOfValue(value)
  if (faults.length > 0) throw invalid(faults)
  const { data: body, faults: faultsOfFields } = check(value, schema)
  if (faultsOfFields !== undefined) throw invalid(faultsOfFields)
  await mayGoOn()
  return body
}

/** @throws Problem 400 or 422 */
function parseText(text: string, maxValues: number): unknown {
  const { values, lossy } = scanJson(text, maxValues)
  if (values > maxValues) {
    throw invalid([
      { detail: `expected at most ${maxValues} fields, elements and values in a body, got more` },
    ])
  }
  const value = parseJson(text)
  if (lossy === undefined) return value
  // A number that no double reaches has a place in the value, unless its field comes twice.
  const faults = faultsOfValue(value)
  if (faults.length > 0) throw invalid(faults)
  const detail = `expected only integers that a double can hold, and others as text, got: ${quote(lossy)}`
  throw invalid([{ detail }])
}

interface BodyText {
  readonly text: string
  readonly bytes: number
}

async function readText(request: Request, most: number, whenAbsent: string | undefined): Promise<BodyText> {
  const type = request.headers.get('content-type')
  const announced = request.headers.get('content-length')
  const length = Number(announced ?? 0)
  // Some clients send a type without a body. Without a length and a type there may still be a body.
  if (whenAbsent !== undefined && length === 0 && (type === null || announced !== null)) {
    if ((await readBytes(request, most)).byteLength === 0) return { text: whenAbsent, bytes: 0 }
  }
  if (type === null || !/^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(type)) {
    throw unsupported(
      `expected Content-Type to be application/json, got: ${type === null ? 'none' : quote(type)}`,
    )
  }
  const encoding = request.headers.get('content-encoding') ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') {
    throw unsupported(`expected the body not to be compressed, got: ${quote(encoding)}`)
  }
  if (length > most) throw tooLarge(most)
  const bytes = await readBytes(request, most)
  if (whenAbsent !== undefined && bytes.byteLength === 0) return { text: whenAbsent, bytes: 0 }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return { text, bytes: bytes.byteLength }
  } catch {
    throw new Problem('bad-request', { detail: 'expected the body to be UTF-8' })
  }
}

async function readBytes(request: Request, most: number): Promise<Uint8Array> {
  try {
    return await (request.headers.has('content-length')
      ? readWhole(request, most)
      : countBytes(request, most))
  } catch (error) {
    if (error instanceof Problem) throw error
    throw new Problem('bad-request', { detail: 'the body ended too early' })
  }
}

/** The server enforces the announced length, which was checked, so the chunks need not be counted. */
async function readWhole(request: Request, most: number): Promise<Uint8Array> {
  const bytes = await request.arrayBuffer()
  if (bytes.byteLength > most) throw tooLarge(most)
  return new Uint8Array(bytes)
}

async function countBytes(request: Request, most: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  // Leaving the loop early cancels the body.
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > most) throw tooLarge(most)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Problem('bad-request', { detail: 'expected the body to be JSON' })
  }
}

function unsupported(detail: string): Problem {
  return new Problem('unsupported-media-type', { detail }, { Accept: 'application/json' })
}

function tooLarge(most: number): Problem {
  return new Problem('too-large', { detail: `expected a body of at most ${most} bytes` })
}
