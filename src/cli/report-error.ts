import { isVelvetRopeError } from '../core/errors.ts'
import { EXIT } from './exit-codes.ts'
import { note } from './terminal.ts'

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
