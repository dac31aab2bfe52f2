import type { ChildSummary, OtherChildren, TotalSummary } from '../../simulate/family-summary.ts'
import type { Summary } from '../../simulate/summary.ts'
import type { WaitSummary } from '../../simulate/waits.ts'
import { showText } from '../display-text.ts'
import { formatCount, formatSeconds, formatShare } from '../numbers.ts'
import { type Column, renderFacts, renderTable } from '../table.ts'

/** What became of the jobs of a child. */
export const OUTCOME_COLUMNS: readonly Column[] = [
  { title: 'accepted', align: 'right' },
  { title: 'rejected', align: 'right' },
  { title: 'share', align: 'right' },
  { title: 'wait p50', align: 'right' },
  { title: 'wait p99', align: 'right' },
  { title: 'longest', align: 'right' },
]
const COLUMNS = [{ title: 'child' }, { title: 'weight', align: 'right' }, ...OUTCOME_COLUMNS] as const

/** What a report says below its tables of children. */
export const SHARE_NOTE = 'share: what a child got of what the family got while jobs of the child waited.'

/** Renders what each total and its children did. Empty where no total governs a key. */
export function totalsReport(summary: Summary): string {
  const tables = totalsTables(summary)
  return tables.length === 0 ? '' : [...tables, SHARE_NOTE].join('\n\n')
}

/** The same for each total, and how many more there are. */
export function totalsTables({ totals = [], furtherTotals = 0 }: Summary): string[] {
  return [...totals.map(reportTotal), ...furtherNote(furtherTotals)]
}

function reportTotal(total: TotalSummary): string {
  const { children, others } = total
  const facts = renderFacts([
    ['total', `${showText(total.path)}  ${total.limit}`],
    ['its pace', utilisationOf(total)],
    ['most waiting', `${formatCount(total.mostWaiting)} of ${formatCount(total.capacity)}`],
    ['refused by it', formatCount(total.rejectedByIt)],
    ['longest wait', formatWait(total.waitMs.max)],
  ])
  const rows = children.map(childRow)
  return `${facts}\n\n${renderTable(COLUMNS, others === null ? rows : [...rows, othersRow(others)])}`
}

/** How many totals a report leaves out, as a sentence, if there are any. */
export function furtherNote(count: number): string[] {
  return count === 0 ? [] : [`${formatCount(count)} totals with fewer arrivals are not shown.`]
}

export function utilisationOf({ utilisation }: TotalSummary): string {
  if (utilisation === null) return 'no job had to wait'
  return `${formatShare(utilisation, 1)} used while jobs waited`
}

function childRow({ child, weight, accepted, rejected, share, waitMs }: ChildSummary): string[] {
  const counts = [formatCount(accepted), formatCount(rejected), formatPart(share)]
  return [showText(child), String(weight), ...counts, ...waitCells(waitMs)]
}

/** Their share is that of one of them, on average. */
function othersRow({ children, accepted, rejected, share, waitMs }: OtherChildren): string[] {
  const counts = [formatCount(accepted), formatCount(rejected), `each ${formatPart(share)}`]
  return [`${formatCount(children)} others`, '', ...counts, ...waitCells(waitMs)]
}

export function formatPart(share: number | null): string {
  return share === null ? '-' : formatShare(share, 1)
}

export function waitCells({ p50, p99, max }: WaitSummary): string[] {
  return [p50, p99, max].map(formatWait)
}

function formatWait(wait: number | null): string {
  return wait === null ? '-' : formatSeconds(wait / 1_000)
}
