import type { ComponentChildren } from 'preact'
import type { Recent, RecentDeparture, RecentVerdict } from '../../../core/line-view.ts'
import { formatClock, formatCount, formatRatio, formatSpan } from '../data/format.ts'
import { KeyText } from '../parts/key-text.tsx'
import { GapChart } from './gap-chart.tsx'

interface RecentViewProps {
  readonly recent: Recent
  readonly onChoose: (id: string) => void
}

const SHOWN = 12

/** The last departures and verdicts. */
export function RecentView({ recent, onChoose }: RecentViewProps) {
  const { departures, verdicts } = recent
  return (
    <div class="recent">
      <section class="card" aria-labelledby="departures-title">
        <h2 id="departures-title">Departures</h2>
        <GapChart departures={departures} />
        <List
          caption="The last departures, newest first"
          heads={['Time', 'Job', 'Gap', 'Gap / interval']}
          empty="No departure since you opened this page."
        >
          {departures.slice(0, SHOWN).map((departure) => (
            <DepartureRow key={`${departure.id} ${departure.at}`} {...departure} onChoose={onChoose} />
          ))}
        </List>
      </section>
      <section class="card" aria-labelledby="verdicts-title">
        <h2 id="verdicts-title">Verdicts</h2>
        <List
          caption="The last verdicts, newest first"
          heads={['Time', 'Job', 'Verdict', 'Waiting']}
          empty="No verdict since you opened this page."
        >
          {verdicts.slice(0, SHOWN + 6).map((verdict) => (
            <VerdictRow key={`${verdict.id} ${verdict.at}`} {...verdict} onChoose={onChoose} />
          ))}
        </List>
      </section>
    </div>
  )
}

interface ListProps {
  readonly caption: string
  readonly heads: readonly string[]
  readonly empty: string
  readonly children: ComponentChildren[]
}

function List({ caption, heads, empty, children }: ListProps) {
  if (children.length === 0) return <p class="list-empty">{empty}</p>
  return (
    <table class="list">
      <caption class="sr-only">{caption}</caption>
      <thead>
        <tr>
          {heads.map((head) => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  )
}

interface Choosing {
  readonly onChoose: (id: string) => void
}

function DepartureRow({ at, id, gapMs, gapRatio, onChoose }: RecentDeparture & Choosing) {
  return (
    <tr>
      <td>{formatClock(at)}</td>
      <td>
        <JobButton id={id} onChoose={onChoose} />
      </td>
      <td>{gapMs === undefined ? <span class="none">–</span> : formatSpan(gapMs)}</td>
      <td class="ratio">{gapRatio === undefined ? <span class="none">–</span> : formatRatio(gapRatio)}</td>
    </tr>
  )
}

function VerdictRow({ at, id, accepted, reason, waiting, onChoose }: RecentVerdict & Choosing) {
  return (
    <tr>
      <td>{formatClock(at)}</td>
      <td>{accepted ? <JobButton id={id} onChoose={onChoose} /> : <KeyText text={id} most={18} />}</td>
      <td>
        <span class={accepted ? 'verdict is-in' : 'verdict is-out'}>
          {accepted ? 'accepted' : `refused: ${reason ?? ''}`}
        </span>
      </td>
      <td>{formatCount(waiting)}</td>
    </tr>
  )
}

function JobButton({ id, onChoose }: { readonly id: string } & Choosing) {
  return (
    <button type="button" class="job-link" onClick={() => onChoose(id)}>
      <KeyText text={id} most={18} />
    </button>
  )
}
