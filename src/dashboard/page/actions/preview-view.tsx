import type { RulePreview } from '../../../core/rule-view.ts'
import { formatCount, formatPercent, formatSpan } from '../data/format.ts'
import { Icon } from '../parts/icon.tsx'
import { KeyText } from '../parts/key-text.tsx'
import { PreviewFacts, PreviewSamples } from './preview-parts.tsx'
import { plural, SHOWN, spanOf } from './preview-words.ts'
import { TotalsPreviewView } from './totals-preview-view.tsx'

/** What a change would do to the live buckets. */
export function PreviewView({ preview }: { readonly preview: RulePreview }) {
  const { buckets, affected, waiting, overfull, ungoverned, drainMs, tooCostly, samples, totals } = preview
  if (totals !== undefined) return <TotalsPreviewView totals={totals} buckets={buckets} />
  return (
    <section class="preview" aria-label="What this would do">
      <PreviewFacts
        what="Live buckets"
        affected={
          <>
            {formatCount(affected)} <span class="of">of {formatCount(buckets)}</span>
          </>
        }
        waiting={waiting}
        drainBefore={formatSpan(drainMs.before)}
        drainAfter={formatSpan(drainMs.after)}
        isEstimate={drainMs.isEstimate}
      />
      {overfull > 0 && (
        <p class="note is-warning">
          <Icon name="warning" />
          <span>
            {plural(overfull, 'bucket')} would exceed their capacity. No job is dropped; new jobs are refused
            until there is room.
          </span>
        </p>
      )}
      {tooCostly && (
        <p class="note is-warning">
          <Icon name="warning" />
          <span>
            {plural(tooCostly.jobs, 'waiting job')} of {formatCount(tooCostly.looked)} that were looked at
            would exceed the capacity or a whole quota; new jobs like them are refused.
          </span>
        </p>
      )}
      {ungoverned > 0 && (
        <p class="note is-warning">
          <Icon name="warning" />
          <span>
            {plural(ungoverned, 'bucket')} would have no rule: new jobs are refused, and waiting jobs keep the
            current limit.
          </span>
        </p>
      )}
      {samples.length > 0 && (
        <PreviewSamples what="buckets" title="Bucket">
          {samples.slice(0, SHOWN).map(({ key, before, after }) => (
            <tr key={key}>
              <th scope="row">
                <KeyText text={key} most={34} />
              </th>
              <td>
                {formatPercent(before.fill)} <span class="arrow">→</span>{' '}
                {after === null ? 'no rule' : formatPercent(after.fill)}
              </td>
              <td>
                {spanOf(before)} <span class="arrow">→</span> {spanOf(after ?? before)}
              </td>
            </tr>
          ))}
        </PreviewSamples>
      )}
    </section>
  )
}
