import type { BucketView } from '../../core/bucket-view.ts'
import { type Column, renderTable } from '../table.ts'
import { paint } from '../terminal.ts'
import { bucketCells, fillBar } from './cells.ts'
import { hasParts, partsText } from './parts-text.ts'
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

/** Renders buckets as a table without cutting anything. `now` is epoch milliseconds. */
export function renderTopTable(buckets: readonly BucketView[], now: number): string {
  const isWithParts = buckets.some(hasParts)
  return renderTable(
    isWithParts ? [...COLUMNS, { title: 'quotas and places' }] : COLUMNS,
    buckets.map((view) => {
      const { key, percent, waiting, running, oldest, next, rate, state } = bucketCells(view, now)
      const colour = STATE_COLOURS[state]
      const [taken, free] = fillBar(view.fill, BAR)
      const bar = `${paint(colour, taken)}${paint('gray', free)}`
      const cells = [key, bar, percent, waiting, running, paint(colour, state), oldest, next, rate]
      return isWithParts ? [...cells, partsText(view, now)] : cells
    }),
  )
}
