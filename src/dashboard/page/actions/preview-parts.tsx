import type { ComponentChildren } from 'preact'
import { formatCount } from '../data/format.ts'

interface PreviewFactsProps {
  /** Of what the first number is: `Live buckets`. */
  readonly what: string
  readonly affected: ComponentChildren
  readonly waiting: number
  readonly drainBefore: string
  readonly drainAfter: string
  readonly isEstimate: boolean | undefined
}

/** A preview in numbers: how many are affected, what waits there, and how long that takes before and after. */
export function PreviewFacts(props: PreviewFactsProps) {
  const { what, affected, waiting, drainBefore, drainAfter, isEstimate } = props
  return (
    <dl class="preview-facts">
      <div>
        <dt>{what} affected</dt>
        <dd>{affected}</dd>
      </div>
      <div>
        <dt>Waiting units</dt>
        <dd>{formatCount(waiting)}</dd>
      </div>
      <div>
        <dt>Longest drain time</dt>
        <dd>
          {drainBefore} <span class="arrow">→</span> {drainAfter}
          {isEstimate && <span class="of"> estimate</span>}
        </dd>
      </div>
    </dl>
  )
}

interface PreviewSamplesProps {
  /** `buckets`, and the title of the first column. */
  readonly what: string
  readonly title: string
  /** Rows of three cells: name, fill, drain time. */
  readonly children: ComponentChildren
}

/** Some of those that a change would affect, before and after. */
export function PreviewSamples({ what, title, children }: PreviewSamplesProps) {
  return (
    <table class="preview-samples">
      <caption class="sr-only">Some of the {what} affected, before and after</caption>
      <thead>
        <tr>
          <th scope="col">{title}</th>
          <th scope="col">Fill</th>
          <th scope="col">Drain time</th>
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  )
}
