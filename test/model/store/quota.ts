// As src/redis/scripts/lib/quota.lua, with windows alone: calendars have a test of their own.
import type { ModelQuota } from '../setup.ts'
import type { Shard } from './shard.ts'
import { type QuotaUse, subWindowOf } from './use.ts'

/** What counts in quotas: a bucket or a total. */
export type Counting = Pick<Shard, 'setup' | 'use'>

/** When the entry ends in which a start at `at` counts. */
export function endsAt({ setup, use }: Counting, quota: ModelQuota, at: number): number {
  const size = subWindowOf(quota, setup.durations.moment)
  const clock = use.head?.clock ?? 0
  return (Math.floor((at + clock) / size) + 1) * size - clock + quota.window
}

function add(use: QuotaUse, end: number, units: number): void {
  const entries = use.entries()
  const index = entries.findIndex((entry) => entry[0] === end)
  const sum = (entries[index]?.[1] ?? 0) + units
  if (index !== -1) entries.splice(index, 1)
  if (sum > 0) entries.push([end, sum])
  use.set(entries.sort(([one], [other]) => one - other))
}

export function charge(shard: Counting, quota: ModelQuota, use: QuotaUse, units: number, at: number): void {
  add(use, endsAt(shard, quota, at), units)
}

/** Lets nothing count for longer than a start that is reserved now. Returns whether something would have. */
export function clamp(shard: Counting, quota: ModelQuota, use: QuotaUse, at: number): boolean {
  const last = endsAt(shard, quota, at + shard.setup.durations.farthest)
  const entries = use.entries()
  const kept = entries.filter(([end]) => end <= last)
  if (kept.length === entries.length) return false
  use.set(kept)
  for (const [end, used] of entries) if (end > last) add(use, last, used)
  return true
}

export function carryOver(
  shard: Counting,
  before: ModelQuota,
  entries: readonly (readonly [number, number])[],
  after: ModelQuota,
  use: QuotaUse,
): void {
  use.set([])
  for (const [end, used] of entries) {
    if (end <= 0) continue
    const latest = Math.min(end - before.window, shard.setup.durations.farthest)
    add(use, endsAt(shard, after, latest), used)
  }
}

/** The earliest time from `from` on at which so many units fit. */
export function roomAt(quota: ModelQuota, use: QuotaUse, units: number, from: number): number {
  const count = use.count
  let total = units
  for (let index = 0; index < count; index++) if (use.end(index) > from) total += use.used(index)
  let at = from
  for (let index = 0; index < count && total > quota.amount; index++) {
    if (use.end(index) <= from) continue
    at = use.end(index)
    total -= use.used(index)
  }
  return at
}
