// As src/redis/scripts/lib/share.lua, standing.lua and places.lua.
import { dueOf as dueOfBucket, peekHead } from '../../store/line.ts'
import { nextSlot } from '../../store/pace.ts'
import { quotasOf } from '../../store/usage.ts'
import type { Family } from './family.ts'
import { type Child, FROZEN, IN, LATER, NOWHERE, OUT, READY, Total } from './total.ts'
import { lastEnd, roomAt, useOfUnit } from './total-quotas.ts'

/** What a job of this cost uses, for the weight of its child, in parts of a cost unit. */
export function shareOf(family: Family, { weight, parent }: Child, cost: number): number {
  return (cost * useOfUnit(parent!) * family.setup.tagParts) / weight
}

function join(family: Family, total: Total, child: Child, cost: number): void {
  const { bucket } = total
  const { place } = child
  const isResting = total.takers.length === 0 && total.sums.handed === 0 && bucket.next <= 0
  if (isResting) {
    bucket.virtual = Math.max(bucket.virtual, bucket.highest)
    bucket.largest = 0
  }
  bucket.largest = Math.max(bucket.largest, shareOf(family, child, cost))
  place.standing = IN
  const shareOfAll = (cost * useOfUnit(total) * family.setup.tagParts) / total.weights
  const further = isResting ? bucket.virtual : bucket.joining + shareOfAll
  bucket.joining = Math.min(Math.max(further, bucket.virtual), bucket.virtual + bucket.largest)
  if (!family.has('newcomer-at-zero')) place.tag = Math.max(place.tag, bucket.joining)
  bucket.highest = Math.max(bucket.highest, place.tag)
}

/**
 * The child may go from `due` on, as its own limits say; undefined: it has nothing to hand over. One that was frozen joins only in a
 * claim.
 */
export function stand(
  family: Family,
  child: Child,
  due: number | undefined,
  costOfFirst: () => number,
): void {
  const total = child.parent!
  const { place } = child
  const isThawed = child.frozen <= (family.horizon ?? 0) && (place.standing !== FROZEN || family.isWaking)
  const isIn = due !== undefined && isThawed
  if (isIn && place.standing !== IN) join(family, total, child, costOfFirst())
  else if (!isIn) place.standing = due === undefined ? OUT : FROZEN
  if (due === undefined && family.has('tag-forgotten')) place.tag = Math.min(place.tag, total.bucket.virtual)
  const from = due === undefined || isIn ? due : Math.max(due, child.frozen)
  if (from !== undefined && staysReady(family, child, from)) place.readyTag = readyTagOf(family, child)
  else {
    Object.assign(place, {
      place: from === undefined ? NOWHERE : LATER,
      dueAt: from ?? family.ends.far,
      readyTag: 0,
    })
  }
  family.touch(total)
}

/** The claim has handed over a job of the bucket that was first, and its next one may be by then, too. */
function staysReady({ horizon }: Family, child: Child, due: number): boolean {
  if (horizon === undefined || due > horizon || child instanceof Total) return false
  return standingIn(child.parent!, READY)[0] === child
}

function readyTagOf(family: Family, { place, parent }: Child): number {
  const { virtual, largest } = parent!.bucket
  return family.has('newcomer-at-zero') ? place.tag : Math.max(place.tag, virtual - largest)
}

const byName = (one: Child, other: Child) => (one.name < other.name ? -1 : 1)

/** Those that stand in `ready`, by tag, or in `later`, by time. */
export function standingIn(total: Total, set: typeof READY | typeof LATER): Child[] {
  const score = ({ place }: Child) => (set === READY ? place.readyTag : place.dueAt)
  const found = total.children.filter(({ place }) => place.place === set)
  return found.sort((one, other) => score(one) - score(other) || byName(one, other))
}

/** What the job costs that is first below the child. */
export function costBelow(family: Family, child: Child): number {
  if (child instanceof Total) {
    const first = standingIn(child, READY)[0] ?? standingIn(child, LATER)[0]
    return first === undefined ? 1 : costBelow(family, first)
  }
  const shard = family.shardOf(child)
  return shard.cost(peekHead(shard, family.ends.far)[0])
}

/** When the total lets the next job below it be handed over, behind what was handed over; and whether any waits. */
export function dueOf(family: Family, total: Total): { readonly due: number; readonly hasWork: boolean } {
  const { far, never } = family.ends
  const isReady = standingIn(total, READY).length > 0
  const first = standingIn(total, LATER)[0]?.place.dueAt
  const hasWork = isReady || first !== undefined
  const { running, inHanded, handed } = total.sums
  if (!isReady && (first ?? far) === far) return { due: far, hasWork }
  const overdue = total.marks.overdue(family)
  const overdueFrom = total.marks.overdueFrom(family)
  if (total.isFull(running + inHanded - overdue.jobs))
    return { due: total.isFull(running) ? far : overdueFrom, hasWork }
  const units = handed - overdue.units
  let due = nextSlot(total, units > 0 ? 0 : never) + total.limit.interval * units
  if (overdueFrom < due) due = Math.max(overdueFrom, nextSlot(total, never))
  return { due: isReady ? due : Math.max(due, first!), hasWork }
}

/** Where the total stands: below its parent, or in `:due` for all below it. */
export function settle(family: Family, total: Total, isLast: boolean): void {
  const { due, hasWork } = departureBelow(family, total)
  total.bucket.idleAt = family.hasChildren(total)
    ? family.ends.far
    : Math.max(total.bucket.next, total.bucket.frozen, lastEnd(total))
  if (total.parent !== undefined)
    stand(family, total, hasWork && total.bucket.paused === 0 ? due : undefined, () =>
      costBelow(family, total),
    )
  else if (isLast) total.bucket.due = due
}

/** Those whose own limits let them go by then join those that share the total. */
export function wake(family: Family, total: Total, horizon: number): boolean {
  const woken = standingIn(total, LATER).filter(({ place }) => place.dueAt <= horizon)
  for (const child of woken) {
    if (child.place.standing !== IN) standAwake(family, child)
    const readyTag = readyTagOf(family, child)
    Object.assign(child.place, { place: READY, readyTag, dueAt: family.ends.far })
  }
  return woken.length > 0
}

/** A child that takes no part yet, such as one that was frozen, joins. */
function standAwake(family: Family, child: Child): void {
  family.isWaking = true
  if (child instanceof Total) {
    settle(family, child, false)
    family.touch(child)
  } else {
    const shard = family.shardOf(child)
    shard.member!.stand(dueOfBucket(shard))
  }
  family.isWaking = false
}

/** The same as `dueOf`, with what else holds the total: its pause, and its quotas, in which what was handed over counts, too. */
export function departureBelow(family: Family, total: Total): ReturnType<typeof dueOf> {
  const found = dueOf(family, total)
  const { far } = family.ends
  if (total.bucket.paused === 1) return { ...found, due: far }
  const { running, inHanded } = total.sums
  const isFull = total.isFull(running + inHanded - total.marks.overdue(family).jobs)
  if (found.due === far || isFull || quotasOf(total.limit).length === 0) return found
  const soonest = Math.max(found.due, 0)
  const [cost, joinsAt] = headBelow(family, total, soonest)
  const at = roomAt([[total, cost + total.sums.handed]], soonest)
  // Meanwhile another may come whose turn is first, and which may need less.
  return at === soonest ? found : { ...found, due: Math.max(soonest, Math.min(at, joinsAt)) }
}

/** What the job costs that is first below the total, and when one joins next on the way to it. */
function headBelow(family: Family, total: Total, at: number): readonly [number, number] {
  const [later] = standingIn(total, LATER)
  const joinsAt = later?.place.dueAt ?? family.ends.far
  const first = standingIn(total, READY)[0] ?? later!
  if (first instanceof Total) {
    const [cost, from] = headBelow(family, first, at)
    return [cost, Math.min(joinsAt, from)]
  }
  const shard = family.shardOf(first)
  const [job] = peekHead(shard, at)
  return [shard.cost(job === -1 ? peekHead(shard, family.ends.far)[0] : job), joinsAt]
}
