import { isVelvetRopeError } from '../core/errors.ts'
import { note } from './terminal.ts'

/** The exit codes of all commands. */
export const EXIT = {
  ok: 0,
  /** The command ran, but the answer is negative or something failed. */
  failure: 1,
  /** The command could not run: the flags, a limit or an input file are invalid. */
  usage: 2,
  /** A job was rejected. */
  rejected: 3,
  /** Ctrl-C, as in shells. */
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

/** Prints an error and returns its exit code. Unexpected errors are printed with their stack. */
export function reportError(error: unknown): number {
  if (!isVelvetRopeError(error)) {
    note(`velvet-rope: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    return EXIT.failure
  }
  note(`velvet-rope: ${error.message}`)
  return USAGE_ERRORS.has(error.code) ? EXIT.usage : EXIT.failure
}

/** Runs a long-lived process and then exits, since a handler may keep its own connections open. */
export async function runToEnd(run: () => Promise<void>): Promise<never> {
  process.exitCode = await run().then(() => EXIT.ok, reportError)
  process.exit()
}
