import type { CommandNode, Expected } from './completion-tree.ts'

/** Branches of a `case "$at|$word"` of bash or zsh, where `$at` is the command so far: which one a word leads to. */
export function stepCases(nodes: readonly CommandNode[]): string[] {
  return nodes.flatMap(({ path, commands }) =>
    commands.map(({ name }) => `'${path}|${name}') at='${`${path} ${name}`.trim()}' ;;`),
  )
}

/** The same: what the word after a flag is wanted to be, `file`, `text`, or the words that it may be. */
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

/** Lines of a script, so far to the right. */
export function indent(lines: readonly string[], columns: number): string {
  return lines.map((line) => ' '.repeat(columns) + line).join('\n')
}

function wordsOf(value: Expected): string {
  return typeof value === 'string' ? value : value.join(' ')
}
