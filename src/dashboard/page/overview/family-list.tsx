import { useState } from 'preact/hooks'
import type { FamilyView } from '../../../core/family-view.ts'
import type { Session } from '../../../http/wire.ts'
import type { FamilyPage } from '../../../line/family-query.ts'
import { familyActions } from '../actions/action.ts'
import { askJson } from '../data/api.ts'
import { formatCount, formatTotal } from '../data/format.ts'
import { may } from '../data/session.ts'
import { visibleText } from '../data/shown-text.ts'
import { Children } from '../family/children.tsx'
import { Counting } from '../parts/counting.tsx'
import { FillBar } from '../parts/fill-bar.tsx'
import { Icon } from '../parts/icon.tsx'
import { KeyText } from '../parts/key-text.tsx'
import { LimitText } from '../parts/limit-text.tsx'
import { Link } from '../parts/link.tsx'
import { Menu } from '../parts/menu.tsx'
import { StateBadge } from '../parts/state-badge.tsx'
import { usePolled } from '../parts/use-polled.ts'
import { PartsSign } from './parts-sign.tsx'

const FEW = 6
const MANY = 100
const REST_MS = 1_500
/** Most lines have no totals. */
const IDLE_REST_MS = 10_000

interface FamilyListProps {
  readonly session: Session
  /** The prefix of the table, which a token with several prefixes needs. */
  readonly prefix: string | undefined
}

/** The live totals, the fullest first; each opens and shows its children. Nothing where there are none. */
export function FamilyList({ session, prefix }: FamilyListProps) {
  const [limit, setLimit] = useState(FEW)
  const [open, setOpen] = useState<string>()
  const under = underOf(session.prefixes, prefix)
  const query = `sort=-fill&limit=${limit}${under === undefined ? '' : `&under=${encodeURIComponent(under)}`}`
  const { value: page } = usePolled(
    query,
    (signal) => askJson<FamilyPage>(`v1/families?${query}`, { signal }),
    (got) => (got?.total ? REST_MS : IDLE_REST_MS),
  )
  if (page === undefined || page.total === 0) return null
  const { families, total } = page
  return (
    <section class="families" aria-labelledby="families-title">
      <header class="buckets-head">
        <h2 id="families-title">
          Families <span class="count">{formatTotal(total)}</span>
        </h2>
        {total > FEW && (
          <button
            type="button"
            class="button is-small"
            onClick={() => setLimit(limit === FEW ? MANY : FEW)}
            aria-expanded={limit !== FEW}
          >
            {limit === FEW ? `Show ${formatCount(Math.min(total, MANY))}` : 'Show the fullest'}
          </button>
        )}
      </header>
      <ul class="table-frame family-list">
        {families.map((family) => (
          <FamilyItem
            key={family.path}
            family={family}
            isAdmin={may(session, 'admin')}
            isOpen={open === family.path}
            onTurn={() => setOpen(open === family.path ? undefined : family.path)}
          />
        ))}
      </ul>
    </section>
  )
}

interface FamilyItemProps {
  readonly family: FamilyView
  readonly isAdmin: boolean
  readonly isOpen: boolean
  readonly onTurn: () => void
}

function FamilyItem({ family, isAdmin, isOpen, onTurn }: FamilyItemProps) {
  const { path, pattern, limit, state, waiting, capacity, fill, children, nextDepartureAt } = family
  const name = visibleText(path)
  return (
    <li class={isOpen ? 'family is-open' : 'family'}>
      <div class="family-row">
        <button
          type="button"
          class="button is-bare is-icon family-opener"
          aria-label={`Children of ${name}`}
          aria-expanded={isOpen}
          onClick={onTurn}
        >
          <Icon name="next" />
        </button>
        <span class="family-name">
          <Link to={{ name: 'family', path }} class="row-link">
            <KeyText text={path} most={48} />
          </Link>
          <small>
            {formatCount(children)} {children === 1 ? 'child' : 'children'}
          </small>
        </span>
        <FillBar waiting={waiting} capacity={capacity} fill={fill}>
          <PartsSign bucket={family} />
        </FillBar>
        <span class="family-state">
          <StateBadge state={state} />
        </span>
        <span class="family-when">
          {nextDepartureAt === undefined ? (
            <span class="none">–</span>
          ) : (
            <Counting at={nextDepartureAt} as="until" />
          )}
        </span>
        <span class="limit family-limit">
          <LimitText limit={limit} pattern={pattern} />
        </span>
        <span class="family-menu">
          {isAdmin && <Menu label={`Actions for ${name}`} items={familyActions(family)} />}
        </span>
      </div>
      {isOpen && <Children path={path} count={children} />}
    </li>
  )
}

/** What a token may ask for: with several prefixes, one of them or what is below it. */
function underOf(prefixes: readonly string[], prefix: string | undefined): string | undefined {
  if (prefixes.length < 2) return undefined
  return prefixes.find((allowed) => prefix === allowed || prefix?.startsWith(`${allowed}/`)) ?? prefixes[0]
}
