import type { CommandNode, FlagNode } from './tree.ts'

/** Completion for fish 3.0 and later. */
export function fishCompletion(program: string, nodes: readonly CommandNode[]): string {
  const at = `__${program.replaceAll('-', '_')}_at`
  return `# Completion of ${program} for fish; load it with: ${program} completion fish | source
function ${at} --description 'whether the words so far lead to this command'
  set -l path ''
  set -l skip ''
  for word in (commandline -opc)[2..-1]
    if test -n "$skip"
      set skip ''
      continue
    end
    switch "$path|$word"
${steps(nodes).join('\n')}
    end
  end
  test "$path" = "$argv[1]"
end
complete -c ${program} -f
${nodes.flatMap((node) => completions(`complete -c ${program} -n "${at} '${node.path}'"`, node)).join('\n')}
`
}

function steps(nodes: readonly CommandNode[]): string[] {
  return nodes.flatMap(({ path, commands, flags }) => {
    const skipped = flags.filter(({ value }) => value !== undefined).flatMap(({ names }) => names)
    const patterns = skipped.map((name) => quote(`${path}|${name}`)).join(' ')
    return [
      ...commands.map(({ name }) => {
        const next = quote(`${path} ${name}`.trim())
        return `      case ${quote(`${path}|${name}`)}\n        set path ${next}`
      }),
      ...(patterns === '' ? [] : [`      case ${patterns}\n        set skip yes`]),
    ]
  })
}

function completions(prefix: string, { commands, flags, argument }: CommandNode): string[] {
  const files = commands.length === 0 && argument === 'file' ? [`${prefix} -F`] : []
  const words = typeof argument === 'string' ? [] : [`${prefix} -a ${quote(argument.join(' '))}`]
  return [
    ...commands.map(({ name, summary }) => `${prefix} -a ${name} -d ${quote(summary)}`),
    ...files,
    ...words,
    ...flags.map((flag) => `${prefix} ${flagText(flag)}`),
  ]
}

function flagText({ names, description, value }: FlagNode): string {
  const named = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`))
  const taken =
    value === undefined
      ? []
      : value === 'file'
        ? ['-r -F']
        : value === 'text'
          ? ['-x']
          : [`-x -a ${quote(value.join(' '))}`]
  return [...named, ...taken, `-d ${quote(description)}`].join(' ')
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
