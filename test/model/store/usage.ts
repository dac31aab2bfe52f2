// As src/redis/scripts/lib/usage.lua, charge.lua and lost.lua.
import type { ModelLimit, ModelQuota } from '../setup.ts'
import * as quota from './quota.ts'
import type { Shard } from './shard.ts'
import { isSame } from './use.ts'

export function quotasOf({ quotas = [] }: ModelLimit): readonly ModelQuota[] {
  return quotas
}

/** Whether the limit has more than its pace, or remembers a quota. */
export function hasParts({ limit, use }: Shard): boolean {
  return limit.places !== undefined || quotasOf(limit).length + use.remembered.length > 0
}

/** The quotas by which starts are counted: those of the limit, and behind them those that are remembered. */
export function countedBy({ limit, use }: Shard): ModelQuota[] {
  return [...quotasOf(limit), ...use.remembered]
}

/** What a job counts in each of them. */
export function chargesOf(shard: Shard, job: number): number[] {
  const { cost, tokens } = shard.setup.jobs[job]!
  return countedBy(shard).map(({ each }) => (each === undefined ? cost : (tokens ?? each)))
}

export function roomAt(shard: Shard, charges: readonly number[], from: number): number {
  let at = Number.NaN
  for (let later = from; later !== at; ) {
    at = later
    for (const [index, part] of quotasOf(shard.limit).entries()) {
      later = quota.roomAt(part, shard.use.of(part), charges[index]!, later)
    }
  }
  return at
}

/** The time from which the granted job may start, and when it was due. */
export function dueAt(shard: Shard, job: number, byPace: number, earliest: number): [number, number] {
  const { quotas, places } = shard.limit
  if (quotas === undefined && places === undefined) return [earliest, byPace]
  const charges = chargesOf(shard, job)
  const due = roomAt(shard, charges, byPace)
  return [roomAt(shard, charges, Math.max(due, earliest)), due]
}

export function charge(shard: Shard, charges: readonly number[], at: number): void {
  for (const [index, part] of countedBy(shard).entries()) {
    quota.charge(shard, part, shard.use.of(part), charges[index]!, at)
  }
}

const negated = (charges: readonly number[]) => charges.map((units) => -units)

/** Forgets what counts no more, and what is remembered no longer. */
export function drop(shard: Shard): void {
  if (shard.use.remembered.some((part) => isOver(shard, part))) changeCounted(shard, () => undefined)
  for (const part of countedBy(shard)) shard.use.of(part).drop()
}

/** Counts the slot that the bucket has granted, or takes that back. */
export function chargeSlot(shard: Shard, sign: 1 | -1): void {
  const { bucket } = shard
  if (bucket.granted === 0) return
  const charges = chargesOf(shard, bucket.granted - 1)
  charge(shard, sign === 1 ? charges : negated(charges), bucket.grantedSlot)
}

/** The granted job starts at `at`. */
export function moveTo(shard: Shard, at: number): void {
  const { bucket } = shard
  if (bucket.granted === 0) return
  const charges = chargesOf(shard, bucket.granted - 1)
  const index = countedBy(shard).findIndex(({ each }) => each !== undefined)
  shard.jobs[bucket.granted - 1]!.charged = charges[index] ?? 0
  if (shard.has('charge-stays-at-slot')) return
  charge(shard, negated(charges), bucket.grantedSlot)
  charge(shard, charges, at)
}

/** Lets nothing count for longer than a start that is reserved now, or is lost. */
export function clamp(shard: Shard): void {
  allowForLoss(shard)
  const { lostAt } = shard.meta
  const at = lostAt === shard.ends.never ? 0 : Math.max(0, Math.min(lostAt, 0) + usable(shard))
  for (const part of countedBy(shard)) {
    if (quota.clamp(shard, part, shard.use.of(part), at)) noteMoved(shard, part)
  }
}

/** As src/redis/scripts/lib/moved.lua: no start of before stands surely where it was counted. */
function noteMoved(shard: Shard, part: ModelQuota): void {
  const bit = 1 << shard.use.placeOf(part)
  if (part.each !== undefined) for (const job of shard.jobs) job.isMoved |= bit
}

/** For so long after a loss a slot may be used that was granted just before. */
function usable({ setup }: Shard): number {
  return 2 * setup.durations.farthest
}

/** A job was admitted: the most tokens that one counts are remembered. */
export function rememberMost(shard: Shard, job: number): void {
  const { meta, setup } = shard
  if (countedBy(shard).some(({ each }) => each !== undefined)) {
    meta.mostTokens = Math.max(meta.mostTokens, setup.jobs[job]!.tokens ?? 0)
  }
}

/** What may have started and is lost counts in a quota so much at most. */
function chargeOfLost(shard: Shard, { amount, each }: ModelQuota): number {
  const { meta, limit, setup } = shard
  const time = setup.durations.lost + usable(shard) + limit.tolerance
  const before = Math.floor(time / limit.interval)
  const most = shard.has('lost-tokens-of-each') ? 0 : meta.mostTokens
  if (each !== undefined) return Math.min(amount, (before + 1) * Math.max(each, most))
  return Math.min(amount, before + Math.min(limit.capacity, Math.max(1, meta.lostCost)))
}

/** Whether the last loss counts already. */
export function countsLoss(shard: Shard): boolean {
  const { meta, use, ends } = shard
  const isCounted = use.head === undefined || use.head.lostAt === meta.lostAt
  return isCounted || countedBy(shard).length === 0 || meta.lostAt === ends.never
}

/** Counts what the last loss may have taken, once for each bucket. The scripts do so where they read what counts. */
export function allowForLoss(shard: Shard): void {
  const { meta, use, bucket } = shard
  if (countsLoss(shard) || bucket.exists === 0) return
  use.head!.lostAt = meta.lostAt
  const at = meta.lostAt + usable(shard)
  for (const part of countedBy(shard)) {
    const units = shard.has('loss-not-counted') ? 0 : chargeOfLost(shard, part)
    quota.charge(shard, part, use.of(part), units, at)
  }
}

/** When nothing counts any more. */
export function forgettableAt(shard: Shard): number {
  const { use, ends } = shard
  const last = countedBy(shard).map((part) => {
    const place = use.placeOf(part)
    return Math.min(lastEnd(shard, part), use.overAt(place) ?? ends.far)
  })
  return Math.max(ends.never, ...last)
}

function lastEnd({ use, ends }: Shard, part: ModelQuota): number {
  return use.of(part).entries().at(-1)?.[0] ?? ends.never
}

/** The limit becomes that of the book; a slot that was granted counts under it. */
export function changeLimit(shard: Shard): void {
  allowForLoss(shard)
  chargeSlot(shard, -1)
  changeCounted(shard, () => {
    shard.bucket.limit = shard.meta.book
  })
  allowForLoss(shard)
  chargeSlot(shard, 1)
}

/** A quota by which starts were counted, and what counts in it. */
interface Known {
  readonly part: ModelQuota
  readonly entries: readonly (readonly [number, number])[]
  /** When it is over; undefined: it is in force. */
  readonly over: number | undefined
}

/** As lib/change.lua and remembered.lua: counts on under another limit, or what is over is forgotten. */
function changeCounted(shard: Shard, change: () => void): void {
  const { use } = shard
  const before = countedBy(shard).map((part): Known => {
    return { part, entries: use.of(part).entries(), over: use.overAt(use.placeOf(part)) }
  })
  const known = before.filter(({ part }) => !isOver(shard, part))
  change()
  if (use.head === undefined) return
  const own = quotasOf(shard.limit)
  const each = [...own, ...before.map(({ part }) => part)].find((part) => part.each !== undefined)?.each
  const past = known
    .filter(({ entries }) => (entries.at(-1)?.[0] ?? 0) > 0)
    .filter(({ part }) => !own.some((other) => isSame(other, part) || isLonger(other, part)))
    .map(({ part, over = part.window }) => ({ part, over }))
  const kept = past.filter(
    ({ part, over }) => !past.some((other) => isLonger(other.part, part) && other.over >= over),
  )
  const moved = use.quotas.map((_, place) => shard.jobs.map((job) => job.isMoved & (1 << place)))
  const { lostAt } = use.head
  use.clear()
  if (own.length + kept.length > 0 && before.length > 0) use.head.lostAt = lostAt
  for (const job of shard.jobs) job.isMoved = 0
  if (kept.length > 0 && use.past !== undefined) use.past['each'] = each ?? 0
  for (const { part, over } of kept) use.setOver(use.placeOf(part), over)
  for (const part of countedBy(shard)) {
    const place = use.placeOf(part)
    const source = sourceOf(known, part)
    // A unit that is new has counted nothing of what ran before.
    if (part.each !== undefined && source === undefined) for (const job of shard.jobs) job.charged = 0
    if (source === undefined) continue
    if (source.part.window === part.window) {
      use.of(part).set(source.entries)
      for (const [index, job] of shard.jobs.entries()) job.isMoved |= moved[place]![index]!
    } else {
      quota.carryOver(shard, source.part, source.entries, part, use.of(part))
      noteMoved(shard, part)
    }
  }
  if (use.remembered.every(({ each }) => each === undefined) && use.past !== undefined) use.past['each'] = 0
}

function isOver(shard: Shard, part: ModelQuota): boolean {
  const over = shard.use.overAt(shard.use.placeOf(part))
  return over !== undefined && (over <= 0 || lastEnd(shard, part) <= 0)
}

const isOfUnit = (one: ModelQuota, other: ModelQuota) =>
  (one.each === undefined) === (other.each === undefined)

function isLonger(one: ModelQuota, other: ModelQuota): boolean {
  return isOfUnit(one, other) && one.window > other.window
}

/** Of the quotas of the same unit, the one with the same window, or the shortest that looks back as far, or else the longest. */
function sourceOf(before: readonly Known[], wanted: ModelQuota): Known | undefined {
  const all = before
    .filter(({ part }) => isOfUnit(part, wanted))
    .toSorted((one, other) => one.part.window - other.part.window)
  return all.find(({ part }) => part.window >= wanted.window) ?? all.at(-1)
}

/** Counts the tokens that an attempt took in place of those that were estimated. */
export function settle(shard: Shard, job: number, tokens: number): void {
  const record = shard.jobs[job]!
  const { farthest } = shard.setup.durations
  // One that is later was before the clock was set back.
  if (record.departedAt > farthest) clamp(shard)
  for (const part of countedBy(shard)) {
    const stands = (record.isMoved & (1 << shard.use.placeOf(part))) === 0
    const more = Math.max(stands ? -record.charged : 0, tokens - record.charged)
    if (part.each !== undefined)
      quota.charge(shard, part, shard.use.of(part), more, Math.min(record.departedAt, farthest))
  }
  record.isSettled = 1
}

/** Only of a mutant: what a lost attempt was charged is taken back. */
export function refund(shard: Shard, job: number): void {
  charge(shard, negated(chargesOf(shard, job)), shard.jobs[job]!.departedAt)
}
