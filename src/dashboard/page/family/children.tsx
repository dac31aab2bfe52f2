import { useRef } from 'preact/hooks'
import { serverClock } from '../clock.ts'
import { isFamily } from '../data/family.ts'
import { formatCount, formatPercent } from '../data/format.ts'
import { type ChildShare, sharesOf } from '../data/shares.ts'
import { visibleText } from '../data/shown-text.ts'
import { KeyText } from '../parts/key-text.tsx'
import { Link } from '../parts/link.tsx'
import { ProblemNote } from '../parts/problem-note.tsx'
import { StateBadge } from '../parts/state-badge.tsx'
import { usePolled } from '../parts/use-polled.ts'
import { childrenOf, type ShownChild } from './children-of.ts'

const REST_MS = 1_500

interface ChildrenProps {
  readonly path: string
  /** How many live below the total. */
  readonly count: number
}

/** The children of a total: what each started lately, beside its share by weight. */
export function Children({ path, count }: ChildrenProps) {
  const openedAt = useRef(serverClock.now())
  const { value: children, problem } = usePolled(
    path,
    (signal) => childrenOf(path, signal),
    () => REST_MS,
  )
  if (children === undefined) {
    if (problem !== undefined) return <ProblemNote>{problem.message}</ProblemNote>
    return <p class="hint is-waiting">Loading the children…</p>
  }
  if (children.length === 0) return <p class="list-empty">Nothing lives below it.</p>
  const { windowMs, shares } = sharesOf(children, openedAt.current, serverClock.now())
  const widest = shares.reduce((most, { share = 0, fair = 0 }) => Math.max(most, share, fair), 0)
  const rest = count - children.length
  return (
    <div class="children">
      <table class="list children-list">
        <caption class="sr-only">
          The children of {visibleText(path)}: what they started, and their shares
        </caption>
        <thead>
          <tr>
            <th scope="col">Child</th>
            <th scope="col" class="col-weight">
              Weight
            </th>
            <th scope="col" class="col-share">
              {windowMs < 1_000 ? 'Starts' : `Starts in the last ${Math.floor(windowMs / 1_000)} s`}
            </th>
            <th scope="col" class="col-number">
              Waiting
            </th>
            <th scope="col" class="col-badge">
              <span class="sr-only">State</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {children.map((child, index) => (
            <ChildRow key={child.name} child={child} path={path} share={shares[index]!} widest={widest} />
          ))}
        </tbody>
      </table>
      <p class="hint">
        <span class="fair-key" aria-hidden="true" /> the share by weight, of those in which jobs wait
        {shares.some(({ starts }) => starts === undefined) && <> and whose starts are counted here</>}
        {rest > 0 && <> · {formatCount(rest)} more, in which less waits</>}
      </p>
    </div>
  )
}

interface ChildRowProps {
  readonly path: string
  readonly child: ShownChild
  readonly share: ChildShare
  /** The largest share, which fills the bar. */
  readonly widest: number
}

function ChildRow({ child: { name, weight, waiting, state }, path, share, widest }: ChildRowProps) {
  const to = isFamily(name)
    ? ({ name: 'family', path: name } as const)
    : ({ name: 'bucket', key: name } as const)
  return (
    <tr>
      <th scope="row">
        <Link to={to} class="row-link">
          {name.startsWith(path) ? (
            <>
              <span class="child-head">
                <KeyText text={path} most={40} />
              </span>
              <KeyText text={name.slice(path.length)} most={40} />
            </>
          ) : (
            <KeyText text={name} most={40} />
          )}
        </Link>
      </th>
      <td class="col-weight">{weight}</td>
      <td class="col-share">
        <Share share={share} widest={widest} />
      </td>
      <td class="col-number">{waiting === 0 ? <span class="none">0</span> : formatCount(waiting)}</td>
      <td class="col-badge">
        <StateBadge state={state} />
      </td>
    </tr>
  )
}

function Share({ share: { starts, share, fair }, widest }: Pick<ChildRowProps, 'share' | 'widest'>) {
  if (starts === undefined) return <span class="none">counted on its own page</span>
  return (
    <span
      class="share"
      title={fair === undefined ? undefined : `its share by weight: ${formatPercent(fair)}`}
    >
      <span class="share-bar" aria-hidden="true">
        <span
          class="fill-part"
          style={{ transform: `scaleX(${share === undefined ? 0 : share / widest})` }}
        />
        {fair !== undefined && <span class="fair-mark" style={{ left: `${(100 * fair) / widest}%` }} />}
      </span>
      <span class="share-text">
        {share === undefined ? <span class="none">–</span> : formatPercent(share)}{' '}
        <span class="of">{formatCount(starts)}</span>
        {fair !== undefined && <span class="sr-only">, by weight {formatPercent(fair)}</span>}
      </span>
    </span>
  )
}
