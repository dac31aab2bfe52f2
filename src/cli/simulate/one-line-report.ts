import type { TotalSummary } from '../../simulate/family-summary.ts'
import type { Summary } from '../../simulate/summary.ts'
import { showText } from '../display-text.ts'
import { formatCount } from '../numbers.ts'
import { renderFacts, renderTable } from '../table.ts'
import { paint } from '../terminal.ts'
import {
  formatPart,
  furtherNote,
  OUTCOME_COLUMNS,
  SHARE_NOTE,
  utilisationOf,
  waitCells,
} from './totals-report.ts'

const COLUMNS = [{ title: 'child' }, { title: '' }, ...OUTCOME_COLUMNS]

/** Renders the answer of `simulate --compare fifo`: each child with one line for its whole family, and with its share. */
export function oneLineReport(oneLine: readonly TotalSummary[], summary: Summary): string {
  const { totals = [], furtherTotals = 0 } = summary
  const notes = [
    'one line: first come first served under the limit of the outermost total, as if all keys were one.',
    SHARE_NOTE,
  ]
  return [
    ...totals.map((shared, index) => reportTotal(oneLine[index]!, shared)),
    [...furtherNote(furtherTotals), ...notes].join('\n'),
  ].join('\n\n')
}

function reportTotal(oneLine: TotalSummary, shared: TotalSummary): string {
  const facts = renderFacts([
    ['total', `${showText(shared.path)}  ${shared.limit}`],
    ['one line', utilisationOf(oneLine)],
    ['shared', utilisationOf(shared)],
  ])
  const rows = shared.children.flatMap((child, index) =>
    pairOf(showText(child.child), oneLine.children[index]!, child),
  )
  if (shared.others !== null) {
    const { children } = shared.others
    rows.push(...pairOf(`${formatCount(children)} others, share of each`, oneLine.others!, shared.others))
  }
  return `${facts}\n\n${renderTable(COLUMNS, rows)}`
}

type Counts = Pick<NonNullable<TotalSummary['others']>, 'accepted' | 'rejected' | 'share' | 'waitMs'>

function pairOf(name: string, oneLine: Counts, shared: Counts): string[][] {
  return [
    [name, paint('gray', 'one line'), ...cells(oneLine)],
    ['', paint('magenta', 'shared'), ...cells(shared)],
  ]
}

function cells({ accepted, rejected, share, waitMs }: Counts): string[] {
  return [formatCount(accepted), formatCount(rejected), formatPart(share), ...waitCells(waitMs)]
}
