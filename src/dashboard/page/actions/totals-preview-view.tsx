import type { PreviewedStanding, PreviewedTotal, TotalsPreview } from '../../../core/rule-view.ts'
import { formatCount, formatPercent, formatSpan } from '../data/format.ts'
import { Icon } from '../parts/icon.tsx'
import { KeyText } from '../parts/key-text.tsx'
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
      <dl class="preview-facts">
        <div>
          <dt>Live families affected</dt>
          <dd>
            {isPartial && 'more than '}
            {formatCount(families)}{' '}
            <span class="of">
              with {formatCount(totals.buckets)} of {plural(buckets, 'bucket')}
            </span>
          </dd>
        </div>
        <div>
          <dt>Waiting units</dt>
          <dd>{formatCount(waiting)}</dd>
        </div>
        <div>
          <dt>Longest drain time</dt>
          <dd>
            {longest(drainMs.before)} <span class="arrow">→</span> {longest(drainMs.after)}
            {drainMs.isEstimate && <span class="of"> estimate</span>}
          </dd>
        </div>
      </dl>
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
        <table class="preview-samples">
          <caption class="sr-only">Some of the families affected, before and after</caption>
          <thead>
            <tr>
              <th scope="col">Family</th>
              <th scope="col">Fill</th>
              <th scope="col">Drain time</th>
            </tr>
          </thead>
          <tbody>
            {samples.slice(0, SHOWN).map((sample) => (
              <Sample key={sample.path} sample={sample} />
            ))}
          </tbody>
        </table>
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
