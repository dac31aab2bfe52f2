import type { Summary } from '../../simulate/summary.ts'
import { showText } from '../display-text.ts'
import { formatCount, formatSeconds, formatShare } from '../numbers.ts'
import { type Column, renderTable } from '../table.ts'
import { arrivalsOf } from './report.ts'
import { SHARE_NOTE, totalsTables } from './totals-report.ts'

interface Trial {
  /** The name of the limits. */
  readonly name: string
  readonly summary: Summary
}

/** Renders the answer of `simulate --against`: the same arrivals under two rule books, side by side. */
export function againstReport(one: Trial, other: Trial): string {
  const both = [one.summary, other.summary] as const
  const columns: Column[] = [
    { title: '' },
    { title: showText(one.name), align: 'right' },
    { title: showText(other.name), align: 'right' },
    { title: 'difference', align: 'right' },
  ]
  const rows = [
    countRow('accepted', both, ({ accepted }) => accepted),
    countRow('rejected', both, ({ rejected }) => rejected),
    ['rejected, share', ...both.map(({ rejected, arrivals }) => formatShare(rejected, arrivals)), ''],
    waitRow('wait, median', both, 'p50'),
    waitRow('wait, p90', both, 'p90'),
    waitRow('wait, p99', both, 'p99'),
    waitRow('wait, longest', both, 'max'),
    ['fullest bucket', ...both.map(({ fullestBucket }) => formatShare(fullestBucket?.fill ?? 0, 1)), ''],
    ['its key', ...both.map(({ fullestBucket }) => showText(fullestBucket?.key ?? '-')), ''],
    ...heldRows(both),
  ]
  const ofTotals = [one, other].flatMap(({ name, summary }) => {
    const tables = totalsTables(summary)
    return tables.length === 0 ? [] : [`under ${showText(name)}`, ...tables]
  })
  const note = ofTotals.length === 0 ? [] : [SHARE_NOTE]
  return [`arrivals: ${arrivalsOf(one.summary)}`, renderTable(columns, rows), ...ofTotals, ...note].join(
    '\n\n',
  )
}

type Both = readonly [Summary, Summary]

function countRow(name: string, both: Both, of: (summary: Summary) => number): string[] {
  const [before, after] = [of(both[0]), of(both[1])]
  return [name, formatCount(before), formatCount(after), signed(after - before, formatCount)]
}

function waitRow(name: string, both: Both, which: keyof Summary['waitMs']): string[] {
  const waits = both.map(({ waitMs }) => waitMs[which])
  const shown = waits.map((wait) => (wait === null ? '-' : formatSeconds(wait / 1_000)))
  const [before, after] = waits
  const isKnown = typeof before === 'number' && typeof after === 'number'
  return [name, ...shown, isKnown ? signed((after - before) / 1_000, formatSeconds) : '']
}

/** For how long each part of the limits kept the first of their lines waiting, where one has several. */
function heldRows(both: Both): string[][] {
  const isMeasured = both.every(({ heldBack }) => heldBack !== undefined)
  const held = both.flatMap(({ heldBack = [] }) => heldBack.map(({ part }) => part))
  // Under a limit that has only a pace, nothing else could hold a job.
  const parts = new Set(held.filter((part) => isMeasured || part !== 'pace'))
  return [...parts].map((part) => {
    const seconds = both.map(({ heldBack }) => heldBack?.find((held) => held.part === part)?.seconds)
    return [`held by ${part}`, ...seconds.map((time) => (time === undefined ? '-' : formatSeconds(time))), '']
  })
}

function signed(difference: number, format: (value: number) => string): string {
  if (difference === 0) return '='
  return `${difference > 0 ? '+' : '-'}${format(Math.abs(difference))}`
}
