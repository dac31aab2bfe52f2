import type {
  PreviewedStanding,
  PreviewedTotal,
  PreviewSample,
  RulePreview,
  TotalsPreview,
} from '../../core/rule-view.ts'
import { showText } from '../display-text.ts'
import { formatCount, formatFill, formatSeconds } from '../numbers.ts'
import { type Column, renderFacts, renderTable } from '../table.ts'

const COLUMNS: readonly Column[] = [
  { title: 'key' },
  { title: 'waiting', align: 'right' },
  { title: 'limit' },
  { title: 'would be' },
  { title: 'fill', align: 'right' },
  { title: 'would be', align: 'right' },
  { title: 'drain', align: 'right' },
  { title: 'would be', align: 'right' },
]

const TOTAL_COLUMNS: readonly Column[] = [
  { title: 'family' },
  { title: 'buckets', align: 'right' },
  ...COLUMNS.slice(1),
]

/** Renders what a change of the rule book would do. */
export function renderPreview(preview: RulePreview): string {
  const { buckets, affected, samples, totals } = preview
  if (totals !== undefined && affected === 0) return renderTotals(totals, buckets)
  const head = `dry run: nothing was changed; ${describeReach(buckets, affected)}`
  if (affected === 0) return head
  const rest = affected - samples.length
  return [
    head,
    '',
    renderFacts(factsOf(preview)),
    '',
    renderTable(COLUMNS, samples.map(cells)),
    ...(rest > 0 ? [`and ${formatCount(rest)} more, which would change less`] : []),
  ].join('\n')
}

/** A total is the limit of no bucket, so what changes are sums. */
function renderTotals(totals: TotalsPreview, buckets: number): string {
  const { families, samples, isPartial } = totals
  const none = buckets === 0 ? 'no bucket is live' : 'it would change the total of no live family'
  if (families === 0) return `dry run: nothing was changed; ${none}`
  const rest = families - samples.length
  const of = `${families === 1 ? 'one family' : `${formatCount(families)} families`}, with ${formatCount(totals.buckets)} of ${liveBuckets(buckets)}`
  return [
    `dry run: nothing was changed; it would change the total of ${isPartial ? 'more than ' : ''}${of}`,
    '',
    renderFacts(factsOf({ ...totals, ungoverned: 0 })),
    '',
    renderTable(TOTAL_COLUMNS, samples.map(totalCells)),
    ...(rest > 0 ? [`and ${formatCount(rest)} more, which would change less`] : []),
  ].join('\n')
}

function totalCells({ path, buckets, waiting, before, after }: PreviewedTotal): string[] {
  return [
    showText(path),
    formatCount(buckets),
    formatCount(waiting),
    ...[before, after].map((standing) => (standing === null ? 'no total' : showText(standing.limit))),
    ...[before, after].map((standing) => (standing === null ? '' : formatFill(standing.fill))),
    ...[before, after].map((standing) => (standing === null ? '' : drainOf(standing))),
  ]
}

function describeReach(buckets: number, affected: number): string {
  const all = liveBuckets(buckets)
  if (affected === 0) return buckets === 0 ? 'no bucket is live' : `it would change none of ${all}`
  return `it would change ${formatCount(affected)} of ${all}`
}

function liveBuckets(count: number): string {
  return count === 1 ? 'the one live bucket' : `${formatCount(count)} live buckets`
}

type Facts = Pick<RulePreview, 'waiting' | 'overfull' | 'ungoverned' | 'tooCostly'> & {
  readonly drainMs: TotalsPreview['drainMs']
}

function factsOf({ waiting, overfull, ungoverned, drainMs, tooCostly }: Facts): [string, string][] {
  const facts: [string, string][] = [
    ['waiting', `${formatCount(waiting)} cost units`],
    [
      'longest drain',
      `${longest(drainMs.before)}, would be ${longest(drainMs.after)}${drainMs.isEstimate ? ' (an estimate)' : ''}`,
    ],
  ]
  if (overfull > 0) facts.push(['overfull', `${formatCount(overfull)}: no new jobs until there is room`])
  if (tooCostly !== undefined) {
    const of = `${formatCount(tooCostly.jobs)} of the first ${formatCount(tooCostly.looked)} jobs below`
    facts.push(['too costly', `${of}: each would take a whole quota, or more than the capacity`])
  }
  if (ungoverned > 0) facts.push(['without a rule', `${formatCount(ungoverned)}: new jobs are refused`])
  return facts
}

function cells({ key, waiting, before, after }: PreviewSample): string[] {
  return [
    showText(key),
    formatCount(waiting),
    showText(before.limit),
    after === null ? 'no rule' : showText(after.limit),
    formatFill(before.fill),
    after === null ? '' : formatFill(after.fill),
    drainOf(before),
    after === null ? '' : drainOf(after),
  ]
}

/** `~` marks an estimate. */
function drainOf({ drainMs, isEstimate }: PreviewedStanding): string {
  return `${isEstimate ? '~' : ''}${seconds(drainMs)}`
}

function longest(ms: number | null): string {
  return ms === null ? 'no total' : seconds(ms)
}

function seconds(ms: number): string {
  return formatSeconds(ms / 1_000)
}
