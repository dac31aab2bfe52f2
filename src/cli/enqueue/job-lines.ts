import { randomBytes } from 'node:crypto'
import { encodeData } from '../../core/data.ts'
import { describe, quote } from '../../core/describe.ts'
import { InvalidInputError, isVelvetRopeError } from '../../core/errors.ts'
import { checkKey } from '../../core/key.ts'
import { parseOptions } from '../../core/options.ts'
import { type EnqueueOptions, type EnqueueRequest, enqueueRequestSchema } from '../../shaper/options.ts'
import { decodeText } from '../../simulate/decode-text.ts'
import { parseJson } from '../json-text.ts'

/** A job and its line number in the input. */
export interface JobLine {
  readonly line: number
  readonly request: EnqueueRequest<unknown> & { readonly id: string }
}

export interface JobLinesOptions {
  /** The name of the input in messages. */
  readonly file: string
  /** Default options for lines without their own. */
  readonly defaults: EnqueueOptions
  /** Called with each invalid line, which is then skipped. Absent: the first one ends the reading. */
  readonly onInvalid?: ((error: InvalidInputError) => void) | undefined
  /** The most jobs of a batch. Default: 500. */
  readonly batch?: number
}

const BATCH = 500
const LONGEST_LINE = 1_048_576
const EXAMPLE = '{ "key": "a", "data": ... }'

/**
 * Reads jobs as JSON lines, `{ "key": ..., "data": ..., "id"?, "cost"?, "deadlineMs"?, "attempts"?, ... }`, in batches
 * as they arrive. Each line is validated before its batch is yielded, and a job without an id gets one, so that a batch
 * whose answer was lost can be sent again without duplicates.
 *
 * @throws InvalidInputError with file, line and column; then nothing of the batch with that line was yielded
 */
export async function* readJobLines(
  chunks: AsyncIterable<Uint8Array>,
  options: JobLinesOptions,
): AsyncGenerator<readonly JobLine[]> {
  let [rest, line] = ['', 0]
  for await (const text of decodeText(options.file, chunks)) {
    const lines = (rest + text).split('\n')
    rest = lines.pop()!
    yield* batches(lines, line, options)
    line += lines.length
    if (rest.length > LONGEST_LINE) {
      const at = { file: options.file, line: line + 1, column: 1 }
      throw new InvalidInputError(
        at,
        `expected a line of at most ${LONGEST_LINE} characters, got a longer one`,
      )
    }
  }
  yield* batches([rest], line, options)
}

function* batches(lines: readonly string[], before: number, options: JobLinesOptions): Generator<JobLine[]> {
  const { batch: most = BATCH } = options
  let batch: JobLine[] = []
  for (const [index, text] of lines.entries()) {
    const job = readLine(text, before + index + 1, options)
    if (job !== undefined) batch.push(job)
    if (batch.length < most) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** Parses a line. Returns undefined for an empty line, and for an invalid one when these are skipped. */
function readLine(
  text: string,
  line: number,
  { file, defaults, onInvalid }: JobLinesOptions,
): JobLine | undefined {
  if (text.trim() === '') return undefined
  try {
    return {
      line,
      request: parseLine(text, defaults, (column, message) => {
        return new InvalidInputError({ file, line, column }, message)
      }),
    }
  } catch (error) {
    if (onInvalid === undefined || !(error instanceof InvalidInputError)) throw error
    onInvalid(error)
    return undefined
  }
}

type Blame = (column: number, message: string) => InvalidInputError

function parseLine(text: string, defaults: EnqueueOptions, invalid: Blame): JobLine['request'] {
  const parsed = parseJson(text)
  if (!parsed.ok) throw invalid(parsed.column, `expected JSON, such as ${EXAMPLE}, got: ${quote(text)}`)
  const { value } = parsed
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(1, `expected a JSON object, such as ${EXAMPLE}, got: ${describe(value)}`)
  }
  for (const field of ['key', 'data']) {
    if (!Object.hasOwn(value, field)) throw invalid(1, `expected a value for ${field}, got none`)
  }
  const columnOf = (field: string) => Math.max(0, text.indexOf(JSON.stringify(field))) + 1
  const { key, data, ...options } = attempt(
    () => parseOptions(enqueueRequestSchema, value, 'job'),
    (message) => invalid(columnOf(badField(value)), message),
  )
  attempt(
    () => checkKey(key),
    (message) => invalid(columnOf('key'), message),
  )
  attempt(
    () => encodeData(data),
    (message) => invalid(columnOf('data'), message),
  )
  return { id: randomBytes(16).toString('hex'), ...defaults, ...options, key: String(key), data }
}

/** The first invalid field. */
function badField(value: object): string {
  const issue = enqueueRequestSchema.safeParse(value).error?.issues[0]
  return String(issue?.code === 'unrecognized_keys' ? issue.keys[0] : issue?.path[0])
}

function attempt<Value>(work: () => Value, invalid: (message: string) => Error): Value {
  try {
    return work()
  } catch (error) {
    throw isVelvetRopeError(error) ? invalid(error.message) : error
  }
}
