import { Command, CommanderError } from 'commander'
import { packageVersion } from '../service/package-version.ts'
import { completionCommand } from './completion/command.ts'
import { demoCommand } from './demo/command.ts'
import { enqueueCommand } from './enqueue/command.ts'
import { EXIT, reportError } from './exit.ts'
import { freezeCommand, pauseCommand, resumeCommand, unfreezeCommand } from './hold-commands.ts'
import { cancelCommand, explainCommand, settleCommand } from './job-commands.ts'
import { limitsCommand } from './limits/command.ts'
import { serveCommand } from './serve-command.ts'
import { simulateCommand } from './simulate/command.ts'
import { topCommand } from './top/command.ts'
import { verifyCommand } from './verify-command.ts'
import { workCommand } from './work-command.ts'

const COMMANDS = [
  demoCommand,
  serveCommand,
  workCommand,
  enqueueCommand,
  topCommand,
  explainCommand,
  limitsCommand,
  freezeCommand,
  unfreezeCommand,
  pauseCommand,
  resumeCommand,
  cancelCommand,
  settleCommand,
  simulateCommand,
  verifyCommand,
  completionCommand,
]

/** Runs the command line. Returns the exit code, unless a command has set one. */
export async function runProgram(args: readonly string[]): Promise<number> {
  try {
    const program = createProgram(COMMANDS.map((create) => create()))
    await program.parseAsync(args[0] === 'help' ? helpArgs(program, args.slice(1)) : args, { from: 'user' })
    return EXIT.ok
  } catch (error) {
    // Commander has printed its message.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    return reportError(error)
  }
}

/** Commander's own `help` stops at the first name, and takes an unknown one for no name at all. */
function helpArgs(program: Command, names: readonly string[]): readonly string[] {
  let command = program
  for (const [index, name] of names.entries()) {
    if (command.commands.length === 0 || name.startsWith('-')) return [...names.slice(0, index), '--help']
    const next = command.commands.find((one) => one.name() === name)
    // Without --help, Commander says that it does not know the command, and suggests another.
    if (next === undefined) return names.slice(0, index + 1)
    command = next
  }
  return [...names, '--help']
}

function createProgram(commands: readonly Command[]): Command {
  const program = new Command('velvet-rope')
    .description('A queue-based traffic shaper: bursts in, an even stream out, per key.')
    .version(packageVersion())
    .showHelpAfterError('(add --help for the options)')
    .exitOverride()
  for (const command of commands) program.addCommand(command)
  inheritSettings(program)
  return program
}

/** Copies the settings of the program, such as throwing errors, to separately created commands. */
function inheritSettings(parent: Command): void {
  for (const command of parent.commands) inheritSettings(command.copyInheritedSettings(parent))
}
