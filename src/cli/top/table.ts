import { type Column, renderTable } from '../table.ts'
import { paint } from '../terminal.ts'
import { bucketCells, fillBar } from './cells.ts'
import { hasParts, partsText } from './parts-text.ts'
import type { TopRows } from './rows.ts'
import { STATE_COLOURS } from './screen.ts'

const COLUMNS: readonly Column[] = [
  { title: 'key' },
  { title: 'fill' },
  { title: '', align: 'right' },
  { title: 'waiting', align: 'right' },
  { title: 'running', align: 'right' },
  { title: 'state' },
  { title: 'oldest', align: 'right' },
  { title: 'next', align: 'right' },
  { title: 'rate', align: 'right' },
]
const BAR = 10

/** A total has children, and it is not known how long the oldest job below it has waited. */
const FAMILY_COLUMNS: readonly Column[] = COLUMNS.map((column) => {
  if (column.title === 'key') return { title: 'family' }
  return column.title === 'oldest' ? { ...column, title: 'children' } : column
})

/** Renders rows as a table without cutting anything. `now` is epoch milliseconds. */
export function renderTopTable(
  { rows, isFamilies }: Pick<TopRows, 'rows' | 'isFamilies'>,
  now: number,
): string {
  const isWithParts = rows.some(hasParts)
  const columns = isFamilies ? FAMILY_COLUMNS : COLUMNS
  return renderTable(
    isWithParts ? [...columns, { title: 'quotas and places' }] : columns,
    rows.map((view) => {
      const { key, percent, waiting, running, next, rate, state, ...cells } = bucketCells(view, now)
      const oldest = isFamilies ? cells.children : cells.oldest
      const colour = STATE_COLOURS[state]
      const [taken, free] = fillBar(view.fill, BAR)
      const bar = `${paint(colour, taken)}${paint('gray', free)}`
      const line = [key, bar, percent, waiting, running, paint(colour, state), oldest, next, rate]
      return isWithParts ? [...line, partsText(view, now)] : line
    }),
  )
}
