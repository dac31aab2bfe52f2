import type { CommandNode } from './tree.ts'
import { indent, stepCases, valueCases } from './tree.ts'

/** Completion for zsh, to be sourced, or saved as `_velvet-rope` in a folder of `fpath`. */
export function zshCompletion(program: string, nodes: readonly CommandNode[]): string {
  const name = `_${program.replaceAll('-', '_')}`
  return `#compdef ${program}
# Completion of ${program} for zsh; load it after compinit with: source <(${program} completion zsh)
${name}_value() {
  case "$1|$2" in
${indent(valueCases(nodes), 4)}
  esac
}
${name}() {
  local word at='' wanted='' cur=$words[CURRENT] i
  local -a found
  # Find the command, and whether the word before takes a value.
  for ((i = 2; i < CURRENT; i++)); do
    word=$words[i]
    if [[ -n $wanted ]]; then
      wanted=''
      continue
    fi
    case "$at|$word" in
${indent(stepCases(nodes), 6)}
      *) ${name}_value "$at" "$word" ;;
    esac
  done
  if [[ -z $wanted && $cur == --*=* ]]; then
    ${name}_value "$at" "\${cur%%=*}"
    compset -P '*='
  fi
  case $wanted in
    '') ;;
    file) _files; return ;;
    text) return 1 ;;
    *) compadd -- \${=wanted}; return ;;
  esac
  case "$at|$cur" in
${indent([...nodes.map(flagWords), ...nodes.map(plainWords)], 4)}
  esac
}
if [[ $funcstack[1] == '_${program}' ]]; then
  ${name} "$@"
else
  compdef ${name} ${program}
fi
`
}

function flagWords({ path, flags }: CommandNode): string {
  const entries = flags.flatMap(({ names, description }) => names.map((name) => entry(name, description)))
  return `'${path}|-'*) found=(${entries.join(' ')}); _describe -o option found ;;`
}

function plainWords({ path, commands, argument }: CommandNode): string {
  if (commands.length > 0) {
    const entries = commands.map(({ name, summary }) => entry(name, summary))
    return `'${path}|'*) found=(${entries.join(' ')}); _describe command found ;;`
  }
  if (argument === 'file') return `'${path}|'*) _files ;;`
  return `'${path}|'*) ${typeof argument === 'string' ? 'return 1' : `compadd -- ${argument.join(' ')}`} ;;`
}

/** `_describe` splits at the first colon that is not escaped. */
function entry(name: string, description: string): string {
  return quote(`${name.replaceAll(':', '\\:')}:${description}`)
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
