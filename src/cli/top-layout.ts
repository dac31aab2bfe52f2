import type { BucketCells } from './top-cells.ts'

/** A column besides key and bar. */
interface Detail {
  readonly title: Exclude<keyof BucketCells, 'key' | 'percent'>
  readonly width: number
  readonly align: 'left' | 'right'
}

/** How wide each column is, and the room between two of them; the percentage takes five after the bar. */
export interface Layout {
  readonly gap: number
  readonly key: number
  readonly bar: number
  readonly details: readonly Detail[]
}

const PERCENT = 5
const MOST_KEY = 64
const MOST_BAR = 32
const NARROW = 60

/** As many details as there is room for; what is left is for the key and the bar. */
export function layOut(columns: number): Layout {
  const isNarrow = columns < NARROW
  const [gap, leastKey, leastBar] = isNarrow ? [1, 10, 4] : [2, 24, 8]
  // The first to come is the last to go.
  const ranked: readonly Detail[] = [
    { title: 'waiting', width: 9, align: 'right' },
    { title: 'state', width: 7, align: 'left' },
    { title: 'oldest', width: 7, align: 'right' },
    { title: 'next', width: 5, align: 'right' },
    { title: 'rate', width: 10, align: 'right' },
    { title: 'running', width: 8, align: 'right' },
  ]
  let room = columns - leastKey - gap - leastBar - PERCENT
  const details: Detail[] = []
  for (const detail of ranked) {
    if (detail.width + gap > room) break
    room -= detail.width + gap
    details.push(detail)
  }
  const key = Math.min(MOST_KEY, leastKey + Math.ceil(room / 2))
  const bar = Math.min(MOST_BAR, leastBar + room - (key - leastKey))
  return { gap, key, bar, details }
}
