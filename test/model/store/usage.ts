// As src/redis/scripts/lib/usage.lua, charge.lua and lost.lua.
import type { ModelLimit, ModelQuota } from '../setup.ts'
import * as quota from './quota.ts'
import type { Shard } from './shard.ts'

export function quotasOf({ quotas = [] }: ModelLimit): readonly ModelQuota[] {
  return quotas
}

/** What a job counts in each quota. */
export function chargesOf(shard: Shard, job: number): number[] {
  const { cost, tokens } = shard.setup.jobs[job]!
  return quotasOf(shard.limit).map(({ each }) => (each === undefined ? cost : (tokens ?? each)))
}

export function roomAt(shard: Shard, charges: readonly number[], from: number): number {
  let at = Number.NaN
  for (let later = from; later !== at; ) {
    at = later
    for (const [index, part] of quotasOf(shard.limit).entries()) {
      later = quota.roomAt(part, shard.use.quotas[index]!, charges[index]!, later)
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
  for (const [index, part] of quotasOf(shard.limit).entries()) {
    quota.charge(shard, part, shard.use.quotas[index]!, charges[index]!, at)
  }
}

const negated = (charges: readonly number[]) => charges.map((units) => -units)

/** Forgets what counts no more. */
export function drop(shard: Shard): void {
  for (const index of quotasOf(shard.limit).keys()) shard.use.quotas[index]!.drop()
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
  const index = quotasOf(shard.limit).findIndex(({ each }) => each !== undefined)
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
  for (const [index, part] of quotasOf(shard.limit).entries()) {
    if (quota.clamp(shard, part, shard.use.quotas[index]!, at)) noteMoved(shard, part)
  }
}

/** As src/redis/scripts/lib/moved.lua: no start of before stands surely where it was counted. */
function noteMoved(shard: Shard, { each }: ModelQuota): void {
  if (each !== undefined) for (const job of shard.jobs) job.isMoved = 1
}

/** For so long after a loss a slot may be used that was granted just before. */
function usable({ setup }: Shard): number {
  return 2 * setup.durations.farthest
}

/** A job was admitted: the most tokens that one counts are remembered. */
export function rememberMost(shard: Shard, job: number): void {
  const { meta, setup } = shard
  if (quotasOf(shard.limit).some(({ each }) => each !== undefined)) {
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
export function countsLoss({ meta, use: { head }, limit, ends }: Shard): boolean {
  const isCounted = head === undefined || head.lostAt === meta.lostAt
  return isCounted || quotasOf(limit).length === 0 || meta.lostAt === ends.never
}

/** Counts what the last loss may have taken, once for each bucket. The scripts do so where they read what counts. */
export function allowForLoss(shard: Shard): void {
  const { meta, use, bucket, limit } = shard
  if (countsLoss(shard) || bucket.exists === 0) return
  use.head!.lostAt = meta.lostAt
  const at = meta.lostAt + usable(shard)
  for (const [index, part] of quotasOf(limit).entries()) {
    const units = shard.has('loss-not-counted') ? 0 : chargeOfLost(shard, part)
    quota.charge(shard, part, use.quotas[index]!, units, at)
  }
}

/** When nothing counts any more. */
export function forgettableAt({ use, ends, limit }: Shard): number {
  const last = quotasOf(limit).map((_, index) => use.quotas[index]!.entries().at(-1)?.[0] ?? ends.never)
  return Math.max(ends.never, ...last)
}

/** The limit becomes that of the book; a slot that was granted counts under it. */
export function changeLimit(shard: Shard): void {
  const before = shard.limit
  allowForLoss(shard)
  const { head, quotas } = shard.use
  chargeSlot(shard, -1)
  const entries = quotas.map((use) => use.entries())
  shard.bucket.limit = shard.meta.book
  if (head === undefined) return
  const after = quotasOf(shard.limit)
  if (after.length === 0 || quotasOf(before).length === 0) shard.use.clear()
  for (const [index, part] of after.entries()) {
    const source = sourceOf(quotasOf(before), part)
    const known = source === undefined ? undefined : quotasOf(before)[source]
    // A unit that is new has counted nothing of what ran before.
    if (part.each !== undefined && known === undefined) for (const job of shard.jobs) job.charged = 0
    if (source === undefined || known === undefined) quotas[index]!.set([])
    else if (known.window === part.window) quotas[index]!.set(entries[source]!)
    else {
      quota.carryOver(shard, known, entries[source]!, part, quotas[index]!)
      noteMoved(shard, part)
    }
  }
  for (const use of quotas.slice(after.length)) use.set([])
  allowForLoss(shard)
  chargeSlot(shard, 1)
}

/** Of the quotas of the same unit, the one with the same window, or else the one that looks back farthest. */
function sourceOf(before: readonly ModelQuota[], part: ModelQuota): number | undefined {
  const isSameUnit = (known: ModelQuota) => (known.each === undefined) === (part.each === undefined)
  const all = [...before.keys()].filter((index) => isSameUnit(before[index]!))
  const same = all.find((index) => before[index]!.window === part.window)
  return same ?? all.sort((one, other) => before[other]!.window - before[one]!.window)[0]
}

/** Counts the tokens that an attempt took in place of those that were estimated. */
export function settle(shard: Shard, job: number, tokens: number): void {
  const record = shard.jobs[job]!
  const { farthest } = shard.setup.durations
  // One that is later was before the clock was set back.
  if (record.departedAt > farthest) clamp(shard)
  const more = Math.max(record.isMoved === 0 ? -record.charged : 0, tokens - record.charged)
  for (const [index, part] of quotasOf(shard.limit).entries()) {
    if (part.each !== undefined)
      quota.charge(shard, part, shard.use.quotas[index]!, more, Math.min(record.departedAt, farthest))
  }
  record.isSettled = 1
}

/** Only of a mutant: what a lost attempt was charged is taken back. */
export function refund(shard: Shard, job: number): void {
  charge(shard, negated(chargesOf(shard, job)), shard.jobs[job]!.departedAt)
}
