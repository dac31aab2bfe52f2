import { type DestinationStream, type Logger, destination as open, pino, stdTimeFunctions } from 'pino'
import { z } from 'zod'
import { parseOptions } from '../core/options.ts'
import { redactFields, redactText } from './redact.ts'

/** How much is logged. */
export const logLevelSchema = z.enum(['debug', 'info', 'warn', 'error', 'silent'])
export type LogLevel = z.output<typeof logLevelSchema>

const logOptionsSchema = z.strictObject({
  /** Default: info. */
  level: logLevelSchema.default('info'),
  /** Fields of every line, such as `{ service: 'velvet-rope' }`. Default: none. */
  fields: z.record(z.string(), z.unknown()).default({}),
})

export type LogOptions = z.input<typeof logOptionsSchema>
type Write = (message: string, fields?: Readonly<Record<string, unknown>>) => void

/**
 * A log of JSON lines. Whatever is passed: passwords in addresses, tokens and payloads are not written, and of an error,
 * which is passed as a field, its name, code and message are.
 */
export interface Log {
  /** May be set at any time; holds for the log and all that were made from it. @throws InvalidOptionsError */
  level: LogLevel
  readonly debug: Write
  readonly info: Write
  readonly warn: Write
  readonly error: Write
  /** Whether it is worth making the fields. */
  hears(level: Exclude<LogLevel, 'silent'>): boolean
  /** The same log, with these fields in every line. */
  with(fields: Readonly<Record<string, unknown>>): Log
}

const levelSchema = z.strictObject({ level: logLevelSchema })
const STDERR = 2
/** What every line has; a field of that name would be a second one. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['level', 'time', 'pid', 'message'])

/**
 * Opens a log. Each event is one line, whatever text is in it: `{"level":"info","time":"2026-01-31T12:00:00.000Z",
 * "pid":7,"message":"connected",...}`. Lines are written before the call returns, so that the last ones are not lost.
 *
 * @param destination where the lines go. Default: standard error
 * @throws InvalidOptionsError
 */
export function createLog(input: LogOptions = {}, destination: DestinationStream = stderr()): Log {
  const { level, fields } = parseOptions(logOptionsSchema, input, 'createLog')
  const logger = pino(
    {
      level,
      base: { pid: process.pid },
      messageKey: 'message',
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  )
  return new SafeLog(logger, safeFields(fields))
}

class SafeLog implements Log {
  readonly #logger: Logger
  readonly #fields: Readonly<Record<string, unknown>>

  constructor(logger: Logger, fields: Readonly<Record<string, unknown>>) {
    this.#logger = logger
    this.#fields = fields
  }

  get level(): LogLevel {
    return this.#logger.level as LogLevel
  }

  set level(level: LogLevel) {
    this.#logger.level = parseOptions(levelSchema, { level }, 'log').level
  }

  readonly debug: Write = (message, fields) => this.#write('debug', message, fields)
  readonly info: Write = (message, fields) => this.#write('info', message, fields)
  readonly warn: Write = (message, fields) => this.#write('warn', message, fields)
  readonly error: Write = (message, fields) => this.#write('error', message, fields)

  hears(level: Exclude<LogLevel, 'silent'>): boolean {
    return this.#logger.isLevelEnabled(level)
  }

  with(fields: Readonly<Record<string, unknown>>): Log {
    return new SafeLog(this.#logger, { ...this.#fields, ...safeFields(fields) })
  }

  #write(
    level: Exclude<LogLevel, 'silent'>,
    message: string,
    fields: Readonly<Record<string, unknown>> = {},
  ) {
    if (this.hears(level)) {
      this.#logger[level]({ ...this.#fields, ...safeFields(fields) }, redactText(message))
    }
  }
}

/** Without secrets; a field that has the name of one of the line's own gets another: `level_`. */
function safeFields(fields: object): Record<string, unknown> {
  const entries = Object.entries(redactFields(fields))
  return Object.fromEntries(entries.map(([name, value]) => [OWN_FIELDS.has(name) ? `${name}_` : name, value]))
}

/** Written at once: what a process says last says why it ended. */
function stderr(): DestinationStream {
  return open({ dest: STDERR, sync: true })
}
