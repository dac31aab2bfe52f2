import { type DestinationStream, type Logger, destination as open, pino, stdTimeFunctions } from 'pino'
import { z } from 'zod'
import { parseOptions } from '../core/options.ts'
import { redactFields, redactText } from './redact.ts'

/** The lowest level that is logged. */
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
 * A log of JSON lines. Passwords in URLs, tokens and payloads are never written; an error, passed as a field, is
 * reduced to name, code and message.
 */
export interface Log {
  /** May be set at any time; applies to this log and all derived from it. @throws InvalidOptionsError */
  level: LogLevel
  readonly debug: Write
  readonly info: Write
  readonly warn: Write
  readonly error: Write
  /** Whether lines of this level are written: create expensive fields only then. */
  isEnabled(level: Exclude<LogLevel, 'silent'>): boolean
  /** Returns the same log with these fields in every line. */
  with(fields: Readonly<Record<string, unknown>>): Log
}

const levelSchema = z.strictObject({ level: logLevelSchema })
const STDERR = 2
/** Fields that every line has; a caller's field with the same name would be a duplicate. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['level', 'time', 'pid', 'message'])

/**
 * Opens a log. Each event is one line, whatever text it contains: `{"level":"info","time":"2026-01-31T12:00:00.000Z",
 * "pid":7,"message":"connected",...}`. Lines are written synchronously, so that the last ones are not lost.
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

  isEnabled(level: Exclude<LogLevel, 'silent'>): boolean {
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
    if (this.isEnabled(level)) {
      this.#logger[level]({ ...this.#fields, ...safeFields(fields) }, redactText(message))
    }
  }
}

/** Removes secrets; a field with the name of one of the line's own is renamed: `level_`. */
function safeFields(fields: object): Record<string, unknown> {
  const entries = Object.entries(redactFields(fields))
  return Object.fromEntries(entries.map(([name, value]) => [OWN_FIELDS.has(name) ? `${name}_` : name, value]))
}

/** Synchronous: the last lines of a process say why it ended. */
function stderr(): DestinationStream {
  return open({ dest: STDERR, sync: true })
}
