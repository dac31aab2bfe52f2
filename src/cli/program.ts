import { createRequire } from 'node:module'
import { Command, CommanderError } from 'commander'
import { demoCommand } from './demo-command.ts'
import { enqueueCommand } from './enqueue-command.ts'
import { EXIT } from './exit-codes.ts'
import { reportError } from './report-error.ts'
import { simulateCommand } from './simulate-command.ts'
import { verifyCommand } from './verify-command.ts'
import { workCommand } from './work-command.ts'

const COMMANDS = [demoCommand, workCommand, enqueueCommand, simulateCommand, verifyCommand]

/** Runs the command line; the answer is the exit code, as far as no command has set one. */
export async function runProgram(args: readonly string[]): Promise<number> {
  try {
    await createProgram(COMMANDS.map((create) => create())).parseAsync(args, { from: 'user' })
    return EXIT.ok
  } catch (error) {
    // Commander has said what it had to say.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    return reportError(error)
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
