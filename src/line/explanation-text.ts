import { quote } from '../core/describe.ts'
import { parseStoredLimit } from '../core/limit.ts'
import { formatRate } from '../core/rate.ts'
import { counted, numeral, placesText, quotaText, spokenDuration } from './hold-text.ts'
import type { JobFacts, PartsFacts, UnderTotals, WaitFacts } from './job-facts.ts'
import { bindingText, bindingTotal, departureOf, limitOf, rateOf } from './totals-text.ts'

const ORDINALS = [
  'First',
  'Second',
  'Third',
  'Fourth',
  'Fifth',
  'Sixth',
  'Seventh',
  'Eighth',
  'Ninth',
  'Tenth',
]

/**
 * Says in one sentence what holds a job, or how it ended.
 *
 * @param hasTimes whether the sentence has the times until which a job waits
 */
export function summaryOf(facts: JobFacts, isGoverned: boolean, hasTimes = true): string {
  const { now, key, state, attempt, startedAt, endedAt, error, wait } = facts
  const ago = endedAt === undefined ? '' : `${spokenDuration(now - endedAt)} ago`
  switch (state) {
    case 'running': {
      const on = attempt > 1 ? `, on attempt ${attempt}` : ''
      return `Running for ${spokenDuration(now - (startedAt ?? now))} since it departed from ${key}${on}.`
    }
    case 'completed':
      return `Completed ${ago}: it departed from ${key} and ran for ${spokenDuration((endedAt ?? now) - (startedAt ?? now))}.`
    case 'failed':
      return `Failed ${ago} in ${key}, after ${counted(attempt, 'attempt')}: ${quote(error ?? 'no reason was given')}.`
    case 'cancelled':
      return `Cancelled ${ago}, while it waited in line of ${key}.`
    case 'expired':
      return `Expired ${ago}: its deadline came while it waited in line of ${key}.`
    default:
      return wait === undefined ? `On its way in ${key}.` : waitingSentence(facts, wait, isGoverned, hasTimes)
  }
}

function waitingSentence(facts: JobFacts, wait: WaitFacts, isGoverned: boolean, hasTimes: boolean): string {
  const place = `${ordinal(wait.position)} in line of ${facts.key}`
  const unruled = isGoverned ? '' : '; no rule governs the key any more'
  return `${place}${whereOf(wait)}${conditionOf(facts, wait, hasTimes)}: ${prognosisOf(facts, wait, hasTimes)}${unruled}.`
}

function whereOf({ handed }: WaitFacts): string {
  if (handed === undefined) return ''
  return handed.worker === undefined ? ', handed over to the workers' : `, at worker ${handed.worker}`
}

function conditionOf(
  { now }: JobFacts,
  { handed, paused, frozenUntil }: WaitFacts,
  hasTimes: boolean,
): string {
  if (handed?.slot !== undefined) return ''
  const lasts = hasTimes ? ` for another ${spokenDuration(frozenUntil - now)}` : ''
  const frozen = frozenUntil > now ? `frozen${lasts}` : undefined
  const conditions = [paused ? 'paused' : undefined, frozen].filter((condition) => condition !== undefined)
  return conditions.length === 0 ? '' : `, which is ${conditions.join(' and ')}`
}

function prognosisOf(facts: JobFacts, wait: WaitFacts, hasTimes: boolean): string {
  const { now, attempt } = facts
  const { departsAt: own, limit, ahead, readyAt, paused, handed, parts, under } = wait
  const departsAt = departureOf(wait)
  const isGranted = handed?.slot !== undefined
  const obstacle = isGranted ? undefined : obstacleOf(facts, wait)
  const behind = ahead.jobs === 0 ? '' : `, behind ${counted(ahead.jobs, 'job')}${unitsOf(ahead)}`
  if (paused && !isGranted) {
    return `does not depart until it is resumed${behind}${obstacle === undefined ? '' : `; and ${obstacle}`}`
  }
  const binding = under && bindingTotal(under.totals, own, now)
  const rate = binding ? `${rateOf(binding)} of ${binding.path}` : formatRate(parseStoredLimit(limit).rate)
  const isVague = under !== undefined && !under.isExact
  const vague = isVague ? { mayBeEarlier: true, mayBeLater: true } : parts
  const comes = hasTimes ? `${timeIn(departsAt - now, vague)} ` : ''
  const when = departsAt > now ? `${comes}at ${rate}` : 'now'
  const shared = binding && !isGranted ? `; ${bindingText(binding, hasTimes ? now : undefined)}` : ''
  const quota =
    parts?.quota && `; ${quotaText(parseStoredLimit(limit), parts.quota, hasTimes ? now : undefined)}`
  if (obstacle !== undefined) return `could depart ${when}${behind}, but ${obstacle}${quota ?? ''}${shared}`
  const isBackoff = readyAt !== undefined && readyAt > now && readyAt >= departsAt
  return `departs ${when}${isBackoff ? `, when it has backed off after attempt ${attempt}` : ''}${behind}${quota ?? ''}${shared}`
}

/** A time, and in which direction it may be wrong. */
function timeIn(wait: number, { mayBeEarlier, mayBeLater }: Partial<PartsFacts> = {}): string {
  const time = spokenDuration(wait)
  if (mayBeEarlier && mayBeLater) return `in about ${time}`
  return `in ${time}${mayBeEarlier ? ' or earlier' : mayBeLater ? ' or later' : ''}`
}

/** Why no worker takes a job that is due. */
function obstacleOf({ now }: JobFacts, { stall, head, parts, limit, under }: WaitFacts): string | undefined {
  const paused = under?.totals.find((total) => total.paused)
  if (paused !== undefined) return `${paused.path} is paused`
  switch (stall?.kind) {
    case undefined:
      return parts?.isFull ? placesText(parseStoredLimit(limit)) : fullTotalText(under)
    case 'no-worker':
      return 'no worker takes jobs'
    case 'busy':
      return 'every handler is busy'
    case 'shared-out':
      return 'the key or its segment has its share of the handlers'
    case 'unclaimed':
      return `no scheduler has handed jobs over for ${spokenDuration(now - stall.since)}`
    case 'untaken': {
      const late = spokenDuration(now - stall.since)
      if (head.isTurn) return `the caller at the head of the line has not responded for ${late}`
      return stall.running === 0
        ? `no worker has taken the head of the line for ${late}`
        : `no free handler has taken the head of the line for ${late}`
    }
  }
}

function fullTotalText(under: UnderTotals | undefined): string | undefined {
  const full = under?.totals.find(({ isFull }) => isFull)
  return full && `${placesText(limitOf(full))} of ${full.path}`
}

function unitsOf({ jobs, cost }: WaitFacts['ahead']): string {
  return cost === jobs ? '' : ` of ${counted(cost, 'cost unit')}`
}

function ordinal(position: number): string {
  return ORDINALS[position - 1] ?? numeral(position)
}
