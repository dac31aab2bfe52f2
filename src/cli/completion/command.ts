import { Argument, Command } from 'commander'
import { print } from '../terminal.ts'
import { bashCompletion } from './bash.ts'
import { fishCompletion } from './fish.ts'
import { type CommandNode, completionTree } from './tree.ts'
import { zshCompletion } from './zsh.ts'

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const
type Shell = keyof typeof SHELLS

const EXAMPLE = `
Examples:
  source <(velvet-rope completion bash)                                  in ~/.bashrc
  source <(velvet-rope completion zsh)                                   in ~/.zshrc, after compinit
  velvet-rope completion fish > ~/.config/fish/completions/velvet-rope.fish`

/** `velvet-rope completion`: prints a completion script for a shell. */
export function completionCommand(): Command {
  return new Command('completion')
    .summary('print a completion script for bash, zsh or fish')
    .description('Prints a script that makes a shell complete commands, flags, their values and files.')
    .addArgument(new Argument('<shell>').choices(Object.keys(SHELLS)))
    .addHelpText('after', EXAMPLE)
    .action((shell: Shell, _flags: unknown, self: Command) => {
      const program = programOf(self)
      const write: (program: string, nodes: readonly CommandNode[]) => string = SHELLS[shell]
      print(write(program.name(), completionTree(program)).trimEnd())
    })
}

function programOf(command: Command): Command {
  return command.parent === null ? command : programOf(command.parent)
}
