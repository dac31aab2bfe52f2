import { isVelvetRopeError } from '../core/errors.ts'
import { note } from './terminal.ts'

/** What a command leaves behind for the shell. */
export const EXIT = {
  ok: 0,
  /** It ran, and the answer is no: a law was broken, or something failed underneath. */
  failure: 1,
  /** It could not run as asked: the flags, a limit or an input file must be changed. */
  usage: 2,
  /** A job was turned away at the rope. */
  rejected: 3,
  /** Ctrl-C, as shells say it. */
  interrupted: 130,
} as const

const USAGE_ERRORS: ReadonlySet<string> = new Set([
  'invalid-limit',
  'invalid-key',
  'invalid-data',
  'invalid-options',
  'invalid-input',
  'no-limit',
  'api-refused',
  'invalid-config',
])

/** Says what went wrong; the answer is the exit code. What was not foreseen comes with its stack. */
export function reportError(error: unknown): number {
  if (!isVelvetRopeError(error)) {
    note(`velvet-rope: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    return EXIT.failure
  }
  note(`velvet-rope: ${error.message}`)
  return USAGE_ERRORS.has(error.code) ? EXIT.usage : EXIT.failure
}

/** Runs a process that lives long, and ends it: a handler may keep connections of its own open. */
export async function runToEnd(run: () => Promise<void>): Promise<never> {
  process.exitCode = await run().then(() => EXIT.ok, reportError)
  process.exit()
}
