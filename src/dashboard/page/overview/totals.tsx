import type { BucketState } from '../../../core/bucket-view.ts'
import { formatShort } from '../data/format.ts'
import { snapshot } from '../data/live.ts'
import { useStore } from '../parts/hooks.ts'
import { Icon } from '../parts/icon.tsx'
import { Link } from '../parts/link.tsx'

const HELD = ['full', 'frozen', 'paused'] as const

/** Sums over all lines. */
export function Totals() {
  const now = useStore(snapshot)
  return (
    <dl class="totals">
      <Total
        name="Live buckets"
        count={now?.buckets}
        title="Buckets that hold jobs or have recently done so"
      />
      <Total name="Waiting" count={now?.waiting} title="Cost units in the lines" />
      <Total name="Running" count={now?.running} title="Running handlers" />
      <Total name="Retrying" count={now?.retrying} title="Jobs that wait for their next attempt" />
      {HELD.map((state) => (
        <HeldTotal key={state} state={state} count={now?.states[state]} />
      ))}
    </dl>
  )
}

interface TotalProps {
  readonly name: string
  readonly count: number | undefined
  readonly title: string
}

function Total({ name, count, title }: TotalProps) {
  return (
    <div class="total" title={title}>
      <dt>{name}</dt>
      <dd>{count === undefined ? '–' : formatShort(count)}</dd>
    </div>
  )
}

/** A number that links to the buckets in this state. */
function HeldTotal({ state, count }: { readonly state: BucketState; readonly count: number | undefined }) {
  return (
    <div class={`total is-held state-${state} ${count ? 'is-some' : ''}`}>
      <dt>
        <Icon name={state} /> {state}
      </dt>
      <dd>
        <Link to={{ name: 'overview', query: { sort: '-fill', state } }} title={`Show ${state} buckets`}>
          {count === undefined ? '–' : formatShort(count)}
        </Link>
      </dd>
    </div>
  )
}
