import type { Command, Option } from 'commander'

/** What may follow: a file, one of some words, or free text. */
export type Expected = 'file' | 'text' | readonly string[]

export interface FlagNode {
  /** `-l` and `--limit`. */
  readonly names: readonly string[]
  readonly description: string
  /** The value that must follow the flag; undefined: none. */
  readonly value: Expected | undefined
}

export interface CommandNode {
  /** The words of the command, without the program: `limits list`; empty for the program itself. */
  readonly path: string
  readonly commands: readonly { readonly name: string; readonly summary: string }[]
  readonly flags: readonly FlagNode[]
  /** What its arguments may be; nothing is offered for `text`. */
  readonly argument: Expected
}

/** The commands with their flags and arguments, read from Commander; the program comes first. */
export function completionTree(program: Command): CommandNode[] {
  return nodesOf(program, [])
}

function nodesOf(command: Command, path: readonly string[]): CommandNode[] {
  const help = command.createHelp()
  const visible = help.visibleCommands(command)
  const node = {
    path: path.join(' '),
    commands: visible.map((child) => ({
      name: child.name(),
      summary: child.summary() || child.description(),
    })),
    flags: help.visibleOptions(command).map(flagOf),
    argument: argumentOf(command),
  }
  // `help` is visible but is no command object.
  const children = command.commands.filter((child) => visible.includes(child))
  return [node, ...children.flatMap((child) => nodesOf(child, [...path, child.name()]))]
}

function flagOf({ short, long, description, argChoices, flags }: Option): FlagNode {
  const names = [short, long].filter((name) => name !== undefined)
  return { names, description, value: flags.includes('<') ? (argChoices ?? expectedBy(flags)) : undefined }
}

function argumentOf(command: Command): Expected {
  const [argument] = command.registeredArguments
  if (argument === undefined) return 'text'
  return argument.argChoices ?? expectedBy(`<${argument.name()}>`)
}

/** The help names file arguments `<file>`, and the worker's `<handler>`. */
function expectedBy(placeholder: string): Expected {
  return /<(?:file|handler)>/.test(placeholder) ? 'file' : 'text'
}

/** Branches of `case "$at|$word"` in bash or zsh, where `$at` is the command so far: the command after the word. */
export function stepCases(nodes: readonly CommandNode[]): string[] {
  return nodes.flatMap(({ path, commands }) =>
    commands.map(({ name }) => `'${path}|${name}') at='${`${path} ${name}`.trim()}' ;;`),
  )
}

/** Branches of the same `case`: the expected value after a flag, `file`, `text`, or a list of words. */
export function valueCases(nodes: readonly CommandNode[]): string[] {
  return nodes.flatMap(({ path, flags }) => {
    const patterns = new Map<string, string[]>()
    for (const { names, value } of flags) {
      if (value === undefined) continue
      const wanted = wordsOf(value)
      patterns.set(wanted, [...(patterns.get(wanted) ?? []), ...names.map((name) => `'${path}|${name}'`)])
    }
    return [...patterns].map(([wanted, names]) => `${names.join(' | ')}) wanted='${wanted}' ;;`)
  })
}

/** Indents and joins the lines of a script. */
export function indent(lines: readonly string[], columns: number): string {
  return lines.map((line) => ' '.repeat(columns) + line).join('\n')
}

function wordsOf(value: Expected): string {
  return typeof value === 'string' ? value : value.join(' ')
}
