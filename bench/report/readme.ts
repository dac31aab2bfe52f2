import { readFileSync, writeFileSync } from 'node:fs'
import { asMarkdown, type Table } from './table.ts'

const README = new URL('../README.md', import.meta.url)

/**
 * Puts the tables of one part between its markers in bench/README.md; all that stands outside them is left alone.
 * A scenario of a part replaces its own tables only, and the line about the machine stays with the whole.
 */
export function refreshReadme(
  part: string,
  machine: string,
  tables: readonly Table[],
  isWhole: boolean,
): void {
  const text = readFileSync(README, 'utf8')
  const begin = `<!-- ${part} results: written by npm run bench -- --${part} --write -->`
  const end = `<!-- end of ${part} results -->`
  const from = text.indexOf(begin) + begin.length
  const to = text.indexOf(end)
  if (from < begin.length || to < from) throw new Error(`bench/README.md must hold ${begin} and then ${end}`)
  const results = isWhole
    ? `\n\n${[`Measured on ${machine}.`, ...tables.map(asMarkdown)].join('\n\n')}\n`
    : tables.reduce(replaceTable, text.slice(from, to))
  writeFileSync(README, text.slice(0, from) + results + text.slice(to))
}

/** A table reaches from its title to the next one. */
function replaceTable(results: string, table: Table): string {
  const title = `\n**${table.title}**\n`
  const fresh = `\n${asMarkdown(table)}\n`
  const from = results.indexOf(title)
  if (from === -1) return `${results}${fresh}`
  const next = results.slice(from + title.length).search(/\n\*\*[^|\n]*\*\*\n/)
  const rest = next === -1 ? '' : results.slice(from + title.length + next)
  return results.slice(0, from) + fresh + rest
}
