import { plainText, textWidth } from './display-text.ts'

export interface Column {
  readonly title: string
  /** `right` aligns the digits of numbers. Default: `left`. */
  readonly align?: 'left' | 'right'
}

/** Renders a plain table: a header, a rule, and columns two spaces apart. */
export function renderTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map(({ title }, index) =>
    Math.max(width(title), ...rows.map((row) => width(row[index] ?? ''))),
  )
  const lay = (cells: readonly string[]): string =>
    columns
      .map(({ align }, index) => {
        const cell = cells[index] ?? ''
        const space = ' '.repeat(widths[index]! - width(cell))
        return align === 'right' ? space + cell : cell + space
      })
      .join('  ')
      .trimEnd()
  const header = lay(columns.map(({ title }) => title))
  const rule = widths.map((size) => '─'.repeat(size)).join('  ')
  return [header, rule, ...rows.map(lay)].join('\n')
}

/** Renders names and values in two columns without a header. */
export function renderFacts(facts: readonly (readonly [name: string, value: string])[]): string {
  const widest = Math.max(0, ...facts.map(([name]) => width(name)))
  return facts.map(([name, value]) => `${name}${' '.repeat(widest - width(name))}  ${value}`).join('\n')
}

/** The width in terminal columns; colour codes take none. */
function width(text: string): number {
  return textWidth(plainText(text))
}
