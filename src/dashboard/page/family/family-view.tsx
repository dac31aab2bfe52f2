import type { FamilyView } from '../../../core/family-view.ts'
import type { Session } from '../../../http/wire.ts'
import { familyActions } from '../actions/action.ts'
import { Banners } from '../bucket/banners.tsx'
import { PartsCard } from '../bucket/parts-card.tsx'
import { askJson, subject } from '../data/api.ts'
import { formatCount, formatPercent } from '../data/format.ts'
import { tableView } from '../data/route.ts'
import { may } from '../data/session.ts'
import { Counting } from '../parts/counting.tsx'
import { Icon } from '../parts/icon.tsx'
import { KeyText } from '../parts/key-text.tsx'
import { Link } from '../parts/link.tsx'
import { ProblemNote } from '../parts/problem-note.tsx'
import { StateBadge } from '../parts/state-badge.tsx'
import { usePolled } from '../parts/use-polled.ts'
import { Children } from './children.tsx'

const REST_MS = 1_000
/** After an answer that there is none, or no answer. */
const REST_MS_GONE = 5_000

interface FamilyPageProps {
  readonly session: Session
  readonly path: string
}

/** One family: what its total holds and counts, and how its children share it. */
export function FamilyPage({ session, path }: FamilyPageProps) {
  const { value: family, problem } = usePolled(
    path,
    (signal) => askJson<FamilyView>(`v1/buckets/${subject(path)}`, { signal }),
    (got) => (got === undefined ? REST_MS_GONE : REST_MS),
  )
  const isGone = problem?.status === 404
  const shown = isGone ? undefined : family
  return (
    <article class="bucket" aria-labelledby="family-title">
      <header class="view-head">
        <div class="bucket-name">
          <Link to={tableView()} class="back">
            <Icon name="back" /> Overview
          </Link>
          <h1 id="family-title">
            <KeyText text={path} most={80} /> {shown !== undefined && <StateBadge state={shown.state} />}
          </h1>
        </div>
        {may(session, 'admin') && shown !== undefined && (
          <div class="buttons">
            {familyActions(shown).map(({ icon, text, act }) => (
              <button key={text} type="button" class="button" onClick={act}>
                <Icon name={icon} /> {text}
              </button>
            ))}
          </div>
        )}
      </header>
      {problem !== undefined && !isGone && <ProblemNote>{problem.message}</ProblemNote>}
      {isGone && (
        <div class="card empty">
          <h2>Nothing lives in this family</h2>
          <p>{problem.message}</p>
        </div>
      )}
      {shown !== undefined && <Family family={shown} />}
    </article>
  )
}

function Family({ family }: { readonly family: FamilyView }) {
  const { path, total, pattern, limit, waiting, capacity, fill, running, children } = family
  return (
    <>
      <Banners bucket={family} what="family" />
      <section class="card family-card" aria-labelledby="sum-title">
        <h2 id="sum-title" class="sr-only">
          The sum of the family
        </h2>
        <p class="family-sum">
          <b>{formatCount(waiting)}</b>{' '}
          <span class="of">
            of {formatCount(capacity)} waiting, {formatPercent(fill)}
          </span>
        </p>
        <p class="family-next">
          <Next family={family} />
        </p>
        <span class={`fill family-fill ${fill >= 1 ? 'is-full' : fill >= 0.8 ? 'is-high' : ''}`}>
          <span class="fill-bar" aria-hidden="true">
            <span class="fill-part" style={{ transform: `scaleX(${Math.min(1, fill)})` }} />
          </span>
        </span>
        <dl class="family-facts">
          <div>
            <dt>Limit of the sum</dt>
            <dd>
              <span class="limit-text">{limit}</span>{' '}
              <span class="fact-more">
                rule <KeyText text={pattern} most={40} />
              </span>
            </dd>
          </div>
          <div>
            <dt>Running</dt>
            <dd>{formatCount(running)}</dd>
          </div>
          <div>
            <dt>Children</dt>
            <dd>{formatCount(children)}</dd>
          </div>
          {total !== undefined && (
            <div>
              <dt>Below</dt>
              <dd>
                <Link to={{ name: 'family', path: total }}>
                  <KeyText text={total} most={40} />
                </Link>
              </dd>
            </div>
          )}
        </dl>
      </section>
      <PartsCard bucket={family} />
      <section class="card family-card" aria-labelledby="children-title">
        <h2 id="children-title">Shares</h2>
        <Children key={path} path={path} count={children} />
      </section>
    </>
  )
}

const HELD: Readonly<Record<string, string>> = {
  slot: 'held by the pace of the sum',
  quota: 'held by a quota',
  place: 'as many run as the total allows',
  frozen: 'frozen',
  paused: 'paused',
}

/** When the next job below it departs, and what of the total holds it. */
function Next({ family: { waiting, nextDepartureAt, heldBy } }: { readonly family: FamilyView }) {
  if (waiting === 0) return <span class="none">nothing waits</span>
  const why = heldBy === undefined ? undefined : (HELD[heldBy.reason] ?? heldBy.detail)
  return (
    <>
      {nextDepartureAt === undefined ? (
        'no departure is in sight'
      ) : (
        <>
          next: <Counting at={nextDepartureAt} as="until" />
        </>
      )}
      {why !== undefined && (
        <span class="of">, {heldBy?.quota === undefined ? why : `held by ${heldBy.quota}`}</span>
      )}
    </>
  )
}
