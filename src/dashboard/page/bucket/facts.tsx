import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { BucketView } from '../../../core/bucket-view.ts'
import type { RecentDeparture } from '../../../core/line-view.ts'
import type { ListedRule } from '../../../core/rule-view.ts'
import { askJson, subject } from '../data/api.ts'
import { formatCount, formatMoment, formatRate } from '../data/format.ts'
import { departuresPerSecond } from '../data/gaps.ts'
import { ruleChanges } from '../data/live.ts'
import { Counting } from '../parts/counting.tsx'
import { useStore } from '../parts/hooks.ts'
import { KeyText } from '../parts/key-text.tsx'
import { Link } from '../parts/link.tsx'
import { OriginTag } from '../parts/origin-tag.tsx'

interface FactsProps {
  readonly bucket: BucketView
  readonly departures: readonly RecentDeparture[]
}

/** The limit, who set it, and the state of the line. */
export function Facts({ bucket, departures }: FactsProps) {
  const { state, limit, pattern, total, retrying, running, jobs, waitingSince, lastUsedAt } = bucket
  const rule = useRule(pattern)
  const isHeld = state === 'frozen' || state === 'paused'
  const rate = isHeld ? undefined : departuresPerSecond(departures)
  return (
    <dl class="facts">
      <Fact name="Limit" isWide>
        <span class="limit-text">{limit}</span>
        <span class="fact-more">
          rule <KeyText text={pattern} most={40} /> {rule !== undefined && <OriginTag origin={rule.origin} />}
          {rule?.by !== undefined && (
            <>
              {' '}
              by <KeyText text={rule.by} most={24} />
            </>
          )}
          {rule?.at !== undefined && <> since {formatMoment(rule.at)}</>}
        </span>
        {total !== undefined && (
          <span class="fact-more">
            shares the total{' '}
            <Link to={{ name: 'family', path: total }}>
              <KeyText text={total} most={40} />
            </Link>
          </span>
        )}
      </Fact>
      <Fact name="Departure rate">{rate === undefined ? <None /> : `${formatRate(rate)}/s`}</Fact>
      <Fact name="Jobs in line">{formatCount(jobs)}</Fact>
      <Fact name="Running">{formatCount(running)}</Fact>
      <Fact name="Retrying">{formatCount(retrying)}</Fact>
      <Fact name="Longest wait">
        {waitingSince === undefined ? <None /> : <Counting at={waitingSince} as="since" />}
      </Fact>
      <Fact name="Last used">
        {lastUsedAt === undefined ? <None /> : <Counting at={lastUsedAt} as="ago" />}
      </Fact>
    </dl>
  )
}

interface FactProps {
  readonly name: string
  readonly isWide?: boolean
  readonly children: ComponentChildren
}

function Fact({ name, isWide = false, children }: FactProps) {
  return (
    <div class={isWide ? 'fact is-wide' : 'fact'}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function None() {
  return <span class="none">–</span>
}

/** The rule of the pattern; undefined for a token that may not see it. */
function useRule(pattern: string): ListedRule | undefined {
  const changes = useStore(ruleChanges)
  const [rule, setRule] = useState<ListedRule>()
  useEffect(() => {
    let isOver = false
    askJson<ListedRule>(`v1/limits/${subject(pattern)}`).then(
      (got) => !isOver && setRule(got),
      () => !isOver && setRule(undefined),
    )
    return () => {
      isOver = true
    }
  }, [pattern, changes])
  return rule
}
