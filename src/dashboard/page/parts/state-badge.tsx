import type { BucketState } from '../../../core/bucket-view.ts'
import { Icon } from './icon.tsx'

/** The state of a bucket: a shape, a word and a colour. */
export function StateBadge({ state }: { readonly state: BucketState }) {
  return (
    <span class={`badge state-${state}`}>
      <Icon name={state} />
      <span class="badge-text">{state}</span>
    </span>
  )
}
