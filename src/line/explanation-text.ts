import { quote } from '../core/describe.ts'
import { DAY, HOUR, MILLISECOND, MINUTE, SECOND } from '../core/duration.ts'
import { parseStoredLimit } from '../core/limit.ts'
import { nameOfQuota } from '../core/quota-input.ts'
import { formatRate } from '../core/rate.ts'
import type { Ahead, JobFacts, LineHold, PartsFacts, WaitFacts } from './job-facts.ts'

export const PAUSED = 'the bucket is paused until it is resumed'
export const FROZEN = 'the bucket is frozen'
export const SPACED = 'the previous departure keeps the next one away'

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
  const { departsAt, limit, ahead, readyAt, paused, handed, parts } = wait
  const isGranted = handed?.slot !== undefined
  const obstacle = isGranted ? undefined : obstacleOf(facts, wait)
  const behind = ahead.jobs === 0 ? '' : `, behind ${counted(ahead.jobs, 'job')}${unitsOf(ahead)}`
  if (paused && !isGranted) {
    return `does not depart until it is resumed${behind}${obstacle === undefined ? '' : `; and ${obstacle}`}`
  }
  const rate = formatRate(parseStoredLimit(limit).rate)
  const comes = hasTimes ? `${timeIn(departsAt - now, parts)} ` : ''
  const when = departsAt > now ? `${comes}at ${rate}` : 'now'
  const quota = parts?.quota && `; ${quotaText(limit, parts.quota, hasTimes ? now : undefined)}`
  if (obstacle !== undefined) return `could depart ${when}${behind}, but ${obstacle}${quota ?? ''}`
  const isBackoff = readyAt !== undefined && readyAt > now && readyAt >= departsAt
  return `departs ${when}${isBackoff ? `, when it has backed off after attempt ${attempt}` : ''}${behind}${quota ?? ''}`
}

/** A time, and in which direction it may be wrong. */
function timeIn(wait: number, { mayBeEarlier, mayBeLater }: Partial<PartsFacts> = {}): string {
  const time = spokenDuration(wait)
  if (mayBeEarlier && mayBeLater) return `in about ${time}`
  return `in ${time}${mayBeEarlier ? ' or earlier' : mayBeLater ? ' or later' : ''}`
}

/** Without `now` the time is left out. */
export function quotaText(limit: string, hold: LineHold, now?: number): string {
  const { index, units, until, needed, used, isOwn } = hold
  const quota = parseStoredLimit(limit).quotas[index]!
  const what = `${needed.toLocaleString('en')}${quota.unit === undefined ? '' : ` ${quota.unit}`}`
  const left = Math.max(0, quota.amount - used).toLocaleString('en')
  const held = `${isOwn ? '' : 'a job before it '}waits for the quota of ${nameOfQuota(quota)}: needs ${what}, ${left} left`
  if (now === undefined) return held
  return `${held}, ${units.toLocaleString('en')} ${units === 1 ? 'comes' : 'come'} free at ${clockTime(until, now)}`
}

export function lineText({ jobs, cost }: Pick<Ahead, 'jobs' | 'cost'>): string {
  const units = cost === jobs ? '' : ` (${counted(cost, 'cost unit')})`
  return `${counted(jobs, 'job')}${units} ${jobs === 1 ? 'departs' : 'depart'} before it`
}

export function placesText(limit: string): string {
  return `waits for one of ${counted(parseStoredLimit(limit).concurrency, 'place')}`
}

/** `16:20:05 UTC`, with the date if it is another day. Rounded up: nothing comes free earlier. */
function clockTime(at: number, now: number): string {
  const [date = '', time = ''] = new Date(Math.ceil(at / SECOND) * 1_000).toISOString().split(/[T.]/)
  const isToday = new Date(now / MILLISECOND).toISOString().startsWith(date)
  return `${isToday ? '' : `${date} `}${time} UTC`
}

/** Why no worker takes a job that is due. */
function obstacleOf({ now }: JobFacts, { stall, head, parts, limit }: WaitFacts): string | undefined {
  switch (stall?.kind) {
    case undefined:
      return parts?.isFull ? placesText(limit) : undefined
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

function unitsOf({ jobs, cost }: WaitFacts['ahead']): string {
  return cost === jobs ? '' : ` of ${counted(cost, 'cost unit')}`
}

/** `1 job`, `2 jobs`. */
export function counted(count: number, thing: string): string {
  return `${count.toLocaleString('en')} ${thing}${count === 1 ? '' : 's'}`
}

/** Formats microseconds for a sentence: `20 ms`, `2.3 s`, `45 s`, `12 min`, `5 h`, `3 days`. */
export function spokenDuration(duration: number): string {
  if (duration < 99.5 * MILLISECOND) return `${Math.max(0, Math.round(duration / MILLISECOND))} ms`
  if (duration < 9.95 * SECOND) return `${Number((duration / SECOND).toFixed(1))} s`
  const [unit, size] = [
    ['s', SECOND] as const,
    ['min', MINUTE] as const,
    ['h', HOUR] as const,
    ['days', DAY] as const,
  ].findLast(([, size]) => size === SECOND || duration >= 2 * size)!
  return `${Math.round(duration / size)} ${unit}`
}

function ordinal(position: number): string {
  const word = ORDINALS[position - 1]
  if (word !== undefined) return word
  const isTeen = position % 100 >= 11 && position % 100 <= 13
  const ending = isTeen ? 'th' : (['th', 'st', 'nd', 'rd'][position % 10] ?? 'th')
  return `${position.toLocaleString('en')}${ending}`
}
