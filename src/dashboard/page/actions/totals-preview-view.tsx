import type { PreviewedStanding, PreviewedTotal, TotalsPreview } from '../../../core/rule-view.ts'
import { formatCount, formatPercent, formatSpan } from '../data/format.ts'
import { Icon } from '../parts/icon.tsx'
import { KeyText } from '../parts/key-text.tsx'
import { PreviewFacts, PreviewSamples } from './preview-parts.tsx'
import { plural, SHOWN, spanOf } from './preview-words.ts'

interface TotalsPreviewViewProps {
  readonly totals: TotalsPreview
  /** All live buckets. */
  readonly buckets: number
}

/** What a change of a total would do to the families that live. */
export function TotalsPreviewView({ totals, buckets }: TotalsPreviewViewProps) {
  const { families, waiting, overfull, drainMs, isPartial, samples } = totals
  return (
    <section class="preview" aria-label="What this would do">
      <PreviewFacts
        what="Live families"
        affected={
          <>
            {isPartial && 'more than '}
            {formatCount(families)}{' '}
            <span class="of">
              with {formatCount(totals.buckets)} of {plural(buckets, 'bucket')}
            </span>
          </>
        }
        waiting={waiting}
        drainBefore={longest(drainMs.before)}
        drainAfter={longest(drainMs.after)}
        isEstimate={drainMs.isEstimate}
      />
      {overfull > 0 && (
        <p class="note is-warning">
          <Icon name="warning" />
          <span>
            In {overfull === 1 ? 'one family' : `${formatCount(overfull)} families`} more waits than the total
            would allow. No job is dropped; new jobs are refused until there is room.
          </span>
        </p>
      )}
      {samples.length > 0 && (
        <PreviewSamples what="families" title="Family">
          {samples.slice(0, SHOWN).map((sample) => (
            <Sample key={sample.path} sample={sample} />
          ))}
        </PreviewSamples>
      )}
    </section>
  )
}

function Sample({ sample: { path, before, after } }: { readonly sample: PreviewedTotal }) {
  const change = (said: (standing: PreviewedStanding) => string) => (
    <>
      {before === null ? 'no total' : said(before)} <span class="arrow">→</span>{' '}
      {after === null ? 'no total' : said(after)}
    </>
  )
  return (
    <tr>
      <th scope="row">
        <KeyText text={path} most={34} />
      </th>
      <td>{change(({ fill }) => formatPercent(fill))}</td>
      <td>{change(spanOf)}</td>
    </tr>
  )
}

function longest(drainMs: number | null): string {
  return drainMs === null ? 'no total' : formatSpan(drainMs)
}
