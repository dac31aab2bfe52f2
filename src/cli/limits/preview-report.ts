import type { PreviewedStanding, PreviewSample, RulePreview } from '../../core/rule-view.ts'
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

/** Renders what a change of the rule book would do. */
export function renderPreview(preview: RulePreview): string {
  const { buckets, affected, samples } = preview
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

function describeReach(buckets: number, affected: number): string {
  const all = buckets === 1 ? 'the one live bucket' : `${formatCount(buckets)} live buckets`
  if (affected === 0) return buckets === 0 ? 'no bucket is live' : `it would change none of ${all}`
  return `it would change ${formatCount(affected)} of ${all}`
}

function factsOf({ waiting, overfull, ungoverned, drainMs, tooCostly }: RulePreview): [string, string][] {
  const facts: [string, string][] = [
    ['waiting', `${formatCount(waiting)} cost units`],
    [
      'longest drain',
      `${seconds(drainMs.before)}, would be ${seconds(drainMs.after)}${drainMs.isEstimate ? ' (an estimate)' : ''}`,
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

function seconds(ms: number): string {
  return formatSeconds(ms / 1_000)
}
