import type { CommandNode } from './tree.ts'
import { indent, stepCases, valueCases } from './tree.ts'

/** Completion for bash 3.2 and later; does not need the package `bash-completion`. */
export function bashCompletion(program: string, nodes: readonly CommandNode[]): string {
  const name = `_${program.replaceAll('-', '_')}`
  return `# Completion of ${program} for bash; load it with: source <(${program} completion bash)
${name}_value() {
  case "$1|$2" in
${indent(valueCases(nodes), 4)}
  esac
}
# Readline completes files best: folders, spaces, ~.
${name}_files() {
  local IFS=$'\\n'
  compopt -o default 2>/dev/null || COMPREPLY=($(compgen -f -- "$cur"))
}
${name}() {
  local word at='' wanted='' i cur=\${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  # Find the command, and whether the word before takes a value. Words are split at = and :.
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    [[ $word == '=' ]] && continue
    if [[ -n $wanted ]]; then
      wanted=''
      continue
    fi
    case "$at|$word" in
${indent(stepCases(nodes), 6)}
      *) ${name}_value "$at" "$word" ;;
    esac
  done
  [[ $cur == '=' ]] && cur=''
  case $wanted in
    '') ;;
    file) ${name}_files; return ;;
    text) return ;;
    *) COMPREPLY=($(compgen -W "$wanted" -- "$cur")); return ;;
  esac
  case "$at|$cur" in
${indent([...nodes.map(flagWords), ...nodes.map((node) => plainWords(name, node))], 4)}
  esac
}
complete -F ${name} ${program}
`
}

function flagWords({ path, flags }: CommandNode): string {
  const words = flags.flatMap(({ names }) => names).join(' ')
  return `'${path}|-'*) COMPREPLY=($(compgen -W '${words}' -- "$cur")) ;;`
}

function plainWords(name: string, { path, commands, argument }: CommandNode): string {
  if (commands.length === 0 && argument === 'file') {
    return `'${path}|'*) ${name}_files ;;`
  }
  const words = [
    ...commands.map((command) => command.name),
    ...(typeof argument === 'string' ? [] : argument),
  ]
  return `'${path}|'*) COMPREPLY=($(compgen -W '${words.join(' ')}' -- "$cur")) ;;`
}
