import type { z } from 'zod'
import { quote } from '../core/describe.ts'
import { isOfAnotherType, nameKnownFields, nearest, nearestForm, placeOf } from '../core/options.ts'
import { firstLossyInteger } from './exact-numbers.ts'
import { type Fault, invalid, Problem, pointerStep } from './problem.ts'
import type { Call, RouteContext } from './route.ts'

const DEEPEST = 32
const MOST_FAULTS = 20

export interface BodyOptions {
  /** Bytes. */
  readonly most: number
  /** JSON to assume for an empty body. Default: a body is required. */
  readonly whenAbsent?: string
}

/**
 * Reads a body of JSON and validates it.
 *
 * @throws Problem 400, 413, 415 or 422
 */
export async function readBody<Schema extends z.ZodType>(
  request: Request,
  schema: Schema,
  { most, whenAbsent }: BodyOptions,
): Promise<z.output<Schema>> {
  const text = await readText(request, most, whenAbsent)
  const value = parseJson(text)
  const faults: Fault[] = []
  walk(value, '#', 0, faults)
  if (faults.length > 0) throw invalid(faults)
  const lossy = firstLossyInteger(text)
  if (lossy !== undefined) {
    throw invalid([
      { detail: `expected only integers that a double can hold, and others as text, got: ${quote(lossy)}` },
    ])
  }
  const result = schema.safeParse(value, { error: nameKnownFields })
  if (result.success) return result.data
  throw invalid(result.error.issues.flatMap((issue) => faultsOf(issue, schema)).slice(0, MOST_FAULTS))
}

async function readText(request: Request, most: number, whenAbsent: string | undefined): Promise<string> {
  const type = request.headers.get('content-type')
  const announced = request.headers.get('content-length')
  const length = Number(announced ?? 0)
  // Some clients send a type without a body. Without a length and a type there may still be a body.
  if (whenAbsent !== undefined && length === 0 && (type === null || announced !== null)) {
    if ((await readBytes(request, most)).byteLength === 0) return whenAbsent
  }
  if (type === null || !/^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(type)) {
    throw unsupported(`expected Content-Type to be application/json, got: ${quote(type ?? '')}`)
  }
  const encoding = request.headers.get('content-encoding') ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') {
    throw unsupported(`expected the body not to be compressed, got: ${quote(encoding)}`)
  }
  if (length > most) throw tooLarge(most)
  const bytes = await readBytes(request, most)
  if (whenAbsent !== undefined && bytes.byteLength === 0) return whenAbsent
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
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

/** Checks what a schema cannot: depth, numbers beyond a double, and a name that could change the prototype of a copy. */
function walk(value: unknown, pointer: string, depth: number, faults: Fault[]): void {
  if (faults.length >= MOST_FAULTS) return
  if (typeof value === 'number' && !Number.isFinite(value)) {
    faults.push({ detail: 'expected a number that a double can hold', pointer })
  }
  if (typeof value !== 'object' || value === null) return
  if (depth >= DEEPEST) {
    faults.push({ detail: `expected at most ${DEEPEST} levels`, pointer })
    return
  }
  for (const [name, inner] of Object.entries(value)) {
    const at = `${pointer}/${pointerStep(name)}`
    if (name === '__proto__') faults.push({ detail: 'expected no field __proto__', pointer: at })
    else walk(inner, at, depth + 1, faults)
  }
}

function faultsOf(issue: z.core.$ZodIssue, schema: z.ZodType): Fault[] {
  const pointer = ['#', ...issue.path.map((step) => pointerStep(String(step)))].join('/')
  if (issue.code === 'invalid_union') {
    const fitting = nearestForm(issue.errors)
    // A union with its own message takes precedence over the messages of its forms.
    if (isOfAnotherType(fitting) && issue.message.startsWith('expected ')) {
      return [{ detail: issue.message, pointer }]
    }
    return fitting.flatMap((inner) =>
      faultsOf({ ...inner, path: [...issue.path, ...inner.path] } as z.core.$ZodIssue, schema),
    )
  }
  if (issue.code === 'unrecognized_keys') {
    const known = issue.message.split(' ')
    return issue.keys.map((name) => ({
      detail: `unknown field ${quote(name)}: ${hintFor(name, known, schema)}`,
      pointer: `${pointer}/${pointerStep(name)}`,
    }))
  }
  return [{ detail: plainMessage(issue.message), pointer }]
}

/** Rewords messages of zod, such as `Invalid input: expected number, received undefined`. */
function plainMessage(message: string): string {
  return message
    .replace(/^(?:Invalid (?:input|option|string)|Too (?:small|big)): /, '')
    .replace(/, received undefined$/, ', got: nothing')
    .replace(/, received (\w+)$/, ', got: $1')
}

/** Suggests what an unknown name was most likely meant to be. */
function hintFor(name: string, known: readonly string[], schema: z.ZodType): string {
  const suggestion = nearest(name, known)
  if (suggestion !== undefined) return `did you mean ${suggestion}?`
  const elsewhere = placeOf(name, schema)
  return elsewhere === undefined ? `known are ${known.join(', ')}` : `did you mean ${elsewhere}?`
}

function unsupported(detail: string): Problem {
  return new Problem('unsupported-media-type', { detail }, { Accept: 'application/json' })
}

function tooLarge(most: number): Problem {
  return new Problem('too-large', { detail: `expected a body of at most ${most} bytes` })
}

/** Reads and validates the body of a request, without counting it as in flight meanwhile. @throws Problem 400, 413, 415, 422 or 503 */
export function readRequest<Schema extends z.ZodType>(
  { settings, overload }: RouteContext,
  { context }: Pick<Call, 'context'>,
  schema: Schema,
  { most = settings.bodyLimitBytes, ...options }: Partial<BodyOptions> = {},
): Promise<z.output<Schema>> {
  return overload.whileReading(() => readBody(context.req.raw, schema, { most, ...options }))
}
