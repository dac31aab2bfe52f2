import { renderTable } from '../../src/cli/table.ts'

/** A table that can be shown in a terminal and in a README. The first two columns are words, the rest numbers. */
export interface Table {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** Whole sentences that stand below. */
  readonly notes: readonly string[]
}

export function asText({ title, columns, rows, notes }: Table): string {
  const layout = columns.map((column, index) => ({ title: column, align: alignment(index) }))
  return [title, '', renderTable(layout, rows), ...notes.map((note) => `  ${note}`), ''].join('\n')
}

export function asMarkdown({ title, columns, rows, notes }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const rule = columns.map((_, index) => (alignment(index) === 'right' ? '--:' : '---'))
  const bold = (row: readonly string[]) => (row[0] === 'velvet-rope' ? row.map((cell) => `**${cell}**`) : row)
  const list = notes.length === 0 ? [] : ['', ...notes.map((note) => `- ${note}`)]
  return [`**${title}**`, '', line(columns), line(rule), ...rows.map(bold).map(line), ...list].join('\n')
}

function alignment(column: number): 'left' | 'right' {
  return column < 2 ? 'left' : 'right'
}
