import { createRequire } from 'node:module'
import { Command, CommanderError } from 'commander'
import { isVelvetRopeError } from '../core/errors.ts'
import { demoCommand } from './demo-command.ts'
import { simulateCommand } from './simulate-command.ts'
import { note } from './terminal.ts'
import { verifyCommand } from './verify-command.ts'

/** What a command leaves behind for the shell. */
export const EXIT = {
  ok: 0,
  /** It ran, and the answer is no: a law was broken, or something failed underneath. */
  failure: 1,
  /** It could not run as asked: the flags, a limit or an input file must be changed. */
  usage: 2,
  /** A job was turned away at the rope. */
  rejected: 3,
} as const

const USAGE_ERRORS: ReadonlySet<string> = new Set([
  'invalid-limit',
  'invalid-key',
  'invalid-data',
  'invalid-options',
  'invalid-input',
  'no-limit',
])

/** Runs the command line; the answer is the exit code, as far as no command has set one. */
export async function runProgram(args: readonly string[]): Promise<number> {
  try {
    await createProgram([demoCommand(), simulateCommand(), verifyCommand()]).parseAsync(args, {
      from: 'user',
    })
    return EXIT.ok
  } catch (error) {
    // Commander has said what it had to say.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    if (!isVelvetRopeError(error)) {
      note(`velvet-rope: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
      return EXIT.failure
    }
    note(`velvet-rope: ${error.message}`)
    return USAGE_ERRORS.has(error.code) ? EXIT.usage : EXIT.failure
  }
}

function createProgram(commands: readonly Command[]): Command {
  const program = new Command('velvet-rope')
    .description('A queue-based traffic shaper: bursts in, an even stream out, per key.')
    .version(packageVersion())
    .showHelpAfterError('(add --help for the options)')
    .exitOverride()
  for (const command of commands) program.addCommand(command.copyInheritedSettings(program))
  return program
}

/** From the package's own name for itself, so that sources and build find the same file. */
function packageVersion(): string {
  const manifest: unknown = createRequire(import.meta.url)('velvet-rope/package.json')
  return (manifest as { version: string }).version
}
