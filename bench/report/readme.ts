import { readFileSync, writeFileSync } from 'node:fs'
import { asMarkdown, type Table } from './table.ts'

const README = new URL('../README.md', import.meta.url)
const BEGIN = '<!-- results: written by npm run bench -- --write -->'
const END = '<!-- end of results -->'

/** Puts the tables between the markers of bench/README.md; all that stands outside them is left alone. */
export function refreshReadme(machine: string, tables: readonly Table[]): void {
  const text = readFileSync(README, 'utf8')
  const from = text.indexOf(BEGIN)
  const to = text.indexOf(END)
  if (from === -1 || to < from) throw new Error(`bench/README.md must hold ${BEGIN} and then ${END}`)
  const results = [`Measured on ${machine}.`, ...tables.map(asMarkdown)].join('\n\n')
  writeFileSync(README, `${text.slice(0, from + BEGIN.length)}\n\n${results}\n${text.slice(to)}`)
}
