import type { ComponentChildren } from 'preact'
import { bucketActions } from '../actions/action.ts'
import { formatCount } from '../data/format.ts'
import { go } from '../data/route.ts'
import type { Row } from '../data/shown-rows.ts'
import { visibleText } from '../data/shown-text.ts'
import { Counting } from '../parts/counting.tsx'
import { FillBar } from '../parts/fill-bar.tsx'
import { KeyText } from '../parts/key-text.tsx'
import { LimitText } from '../parts/limit-text.tsx'
import { Link } from '../parts/link.tsx'
import { Memo } from '../parts/memo.ts'
import { Menu } from '../parts/menu.tsx'
import { StateBadge } from '../parts/state-badge.tsx'
import { COLUMNS, type ColumnField } from './columns.tsx'
import { PartsSign } from './parts-sign.tsx'

interface BucketRowProps {
  readonly row: Row
  readonly isAdmin: boolean
}

/** One bucket. It renders again only when the bucket has changed; times count by themselves. */
export class BucketRow extends Memo<BucketRowProps> {
  override render() {
    const { row, isAdmin } = this.props
    const { bucket, isGone } = row
    const cells = cellsOf(row)
    return (
      <tr
        class={isGone ? 'is-gone' : undefined}
        onClick={(event) => {
          if ((event.target as Element).closest('a, button, [popover]') !== null || isSelecting()) return
          go({ name: 'bucket', key: bucket.key })
        }}
      >
        <th scope="row" class="col-key rank-0">
          <Link to={{ name: 'bucket', key: bucket.key }} class="row-link">
            <KeyText text={bucket.key} most={48} />
          </Link>
        </th>
        {COLUMNS.slice(1).map(({ field, rank }) => (
          <td key={field} class={`col-${field} rank-${rank}`}>
            {cells[field]}
          </td>
        ))}
        <td class="col-menu">
          {isAdmin && <Menu label={`Actions for ${visibleText(bucket.key)}`} items={bucketActions(bucket)} />}
        </td>
      </tr>
    )
  }
}

function cellsOf({ bucket, isGone }: Row): Readonly<Partial<Record<ColumnField, ComponentChildren>>> {
  const { state, fill, waiting, capacity, limit, pattern, running, retrying } = bucket
  const { nextDepartureAt, waitingSince, lastUsedAt } = bucket
  return {
    fill: (
      <FillBar waiting={waiting} capacity={capacity} fill={fill}>
        <PartsSign bucket={bucket} />
      </FillBar>
    ),
    state: isGone ? (
      <span class="badge is-gone" title="No longer on this page">
        moved
      </span>
    ) : (
      <StateBadge state={state} />
    ),
    nextDepartureAt:
      isGone || nextDepartureAt === undefined ? <None /> : <Counting at={nextDepartureAt} as="until" />,
    oldestWaitMs: isGone || waitingSince === undefined ? <None /> : <Counting at={waitingSince} as="since" />,
    running: running === 0 ? <None is0 /> : formatCount(running),
    retrying: retrying === 0 ? <None is0 /> : formatCount(retrying),
    pattern: (
      <span class="limit">
        <LimitText limit={limit} pattern={pattern} />
      </span>
    ),
    lastUsedAt: lastUsedAt === undefined ? <None /> : <Counting at={lastUsedAt} as="ago" />,
  }
}

function None({ is0 = false }: { readonly is0?: boolean }) {
  return <span class="none">{is0 ? '0' : '–'}</span>
}

/** Whether text is being selected, in which case a click must not navigate. */
function isSelecting(): boolean {
  return getSelection()?.type === 'Range'
}
