import { useState } from 'preact/hooks'
import type { Session } from '../../../http/wire.ts'
import { begin, bucketActions } from '../actions/action.ts'
import { bucketNews } from '../data/live.ts'
import { tableView } from '../data/route.ts'
import { may } from '../data/session.ts'
import { useStore } from '../parts/hooks.ts'
import { Icon } from '../parts/icon.tsx'
import { KeyText } from '../parts/key-text.tsx'
import { Link } from '../parts/link.tsx'
import { StateBadge } from '../parts/state-badge.tsx'
import { Banners } from './banners.tsx'
import { Explanation } from './explanation.tsx'
import { Facts } from './facts.tsx'
import { LineCard } from './line-card.tsx'
import { PartsCard } from './parts-card.tsx'
import { RecentView } from './recent-view.tsx'

interface BucketViewProps {
  readonly session: Session
  readonly bucket: string
}

const NOTHING = { verdicts: [], departures: [] }

/** One bucket: a picture of its line, facts, and its last events. */
export function BucketView({ session, bucket: key }: BucketViewProps) {
  const news = useStore(bucketNews)
  const [chosen, choose] = useState<string>()
  const own = news?.key === key ? news : undefined
  const bucket = own?.bucket ?? undefined
  const recent = own?.recent ?? NOTHING
  const close = () => {
    const back = document.querySelector<HTMLElement>('.line-job.is-chosen') ?? document.getElementById('main')
    choose(undefined)
    back?.focus()
  }
  const acts =
    bucket !== undefined
      ? bucketActions(bucket)
      : [
          { icon: 'frozen', text: 'Freeze…', act: () => begin({ kind: 'freeze', key }) } as const,
          { icon: 'paused', text: 'Pause…', act: () => begin({ kind: 'pause', key }) } as const,
        ]
  return (
    <article class="bucket" aria-labelledby="bucket-title">
      <header class="view-head">
        <div class="bucket-name">
          <Link to={tableView()} class="back">
            <Icon name="back" /> Buckets
          </Link>
          <h1 id="bucket-title">
            <KeyText text={key} most={80} /> {bucket !== undefined && <StateBadge state={bucket.state} />}
          </h1>
        </div>
        {may(session, 'admin') && (
          <div class="buttons">
            {acts.map(({ icon, text, act }) => (
              <button key={text} type="button" class="button" onClick={act}>
                <Icon name={icon} /> {text}
              </button>
            ))}
          </div>
        )}
      </header>
      {bucket !== undefined && <Banners bucket={bucket} />}
      <LineCard
        isKnown={own !== undefined}
        bucket={bucket}
        line={own?.line ?? undefined}
        lastDepartureAt={recent.departures[0]?.at}
        chosen={chosen}
        onChoose={choose}
      />
      {chosen !== undefined && (
        <Explanation
          key={chosen}
          id={chosen}
          bucket={key}
          nextDepartureAt={bucket?.nextDepartureAt}
          onChoose={choose}
          onClose={close}
        />
      )}
      {bucket !== undefined && <PartsCard bucket={bucket} />}
      {bucket !== undefined && <Facts bucket={bucket} departures={recent.departures} />}
      <RecentView recent={recent} onChoose={choose} />
    </article>
  )
}
