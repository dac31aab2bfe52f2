import { DAY, HOUR, MILLISECOND, MINUTE, SECOND } from '../core/duration.ts'
import type { Limit } from '../core/limit.ts'
import { nameOfQuota } from '../core/quota-input.ts'
import type { Ahead, LineHold } from './job-facts.ts'

/** What a limit is of that is no total. */
const BUCKET = 'the bucket'
export const SPACED = 'the previous departure keeps the next one away'

/** @param of path of the total that is paused, if one is */
export function pausedText(of = BUCKET): string {
  return `${of} is paused until it is resumed`
}

export function frozenText(of = BUCKET): string {
  return `${of} is frozen`
}

/** Without `now` the time is left out. */
export function quotaText({ quotas }: Pick<Limit, 'quotas'>, hold: LineHold, now?: number): string {
  const { index, units, until, needed, used, isOwn } = hold
  const quota = quotas[index]!
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

export function placesText({ concurrency }: Pick<Limit, 'concurrency'>): string {
  return `waits for one of ${counted(concurrency, 'place')}`
}

/** `16:20:05 UTC`, with the date if it is another day. Rounded up: nothing comes free earlier. */
function clockTime(at: number, now: number): string {
  const [date = '', time = ''] = new Date(Math.ceil(at / SECOND) * 1_000).toISOString().split(/[T.]/)
  const isToday = new Date(now / MILLISECOND).toISOString().startsWith(date)
  return `${isToday ? '' : `${date} `}${time} UTC`
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

/** `1st`, `2nd`, `1,011th`. */
export function numeral(position: number): string {
  const isTeen = position % 100 >= 11 && position % 100 <= 13
  const ending = isTeen ? 'th' : (['th', 'st', 'nd', 'rd'][position % 10] ?? 'th')
  return `${position.toLocaleString('en')}${ending}`
}
