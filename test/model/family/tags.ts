import { FROZEN, GRANTED, HANDED, RETRYING, WAITING } from '../store/shard.ts'
import type { FamilyWorld } from './actors/world.ts'
import { type Child, IN, Total } from './store/total.ts'
import { useOfUnit } from './store/total-quotas.ts'

interface TagsBefore {
  readonly child: Child
  readonly tag: number
  readonly standing: number
  readonly virtual: number
}

const isCharged = (state: number) => state === HANDED || state === GRANTED

/**
 * Looks at the tags before a call; the function that it returns judges what the call made of them. Virtual time never falls. A tag moves on with what is handed
 * over, and back with what comes back without having started; a child that joins is not behind virtual time; and no tag is forgotten
 * that virtual time has not passed, unless the total has room and no child has work.
 */
export function watchTags(world: FamilyWorld): () => void {
  const { family, setup } = world
  const all: Child[] = [...family.places, ...family.totals.filter(({ parent }) => parent !== undefined)]
  const before = all.map(
    (child): TagsBefore => ({
      child,
      tag: child.place.tag,
      standing: child.place.standing,
      virtual: child.parent!.bucket.virtual,
    }),
  )
  const existed = family.totals.filter(({ bucket }) => bucket.exists === 1)
  const states = setup.jobs.map((_, job) => ({ ...stateOf(world, job) }))
  return () => {
    const moved = setup.jobs.map((_, job) => movedBy(world, job, states[job]!))
    for (const one of before) {
      const total = one.child.parent!
      if (!existed.includes(total) || total.bucket.exists === 0) continue
      judgeTag(world, one, sumBelow(world, one.child, moved))
    }
  }
}

const stateOf = (world: FamilyWorld, job: number) => {
  const { state, crashes } = world.record(job)
  return { state, crashes }
}

/** In cost units: what the call handed over, or what came back. One that may have started does not come back. */
function movedBy(world: FamilyWorld, job: number, was: ReturnType<typeof stateOf>): number {
  const { cost } = world.setup.jobs[job]!
  const { state, crashes, worker } = world.record(job)
  const waits = state === WAITING || (state === RETRYING && worker !== FROZEN)
  if (!isCharged(was.state) && state === HANDED) return cost
  return isCharged(was.state) && waits && crashes === was.crashes ? -cost : 0
}

function sumBelow({ family, setup }: FamilyWorld, child: Child, moved: readonly number[]): number {
  let sum = 0
  for (const [job, units] of moved.entries()) {
    const place = family.places[setup.jobs[job]!.of]!
    if (child === place || (child instanceof Total && place.totals.includes(child))) sum += units
  }
  return (sum * useOfUnit(child.parent!) * setup.tagParts) / child.weight
}

function judgeTag(world: FamilyWorld, before: TagsBefore, moved: number): void {
  const { child } = before
  const total = child.parent!
  const { bucket, takers, sums } = total
  const { tag, standing } = child.place
  if (bucket.virtual < before.virtual) world.breaks('L12 virtual time falls')
  const expected = before.tag + moved
  const isResting = takers.length === 0 && sums.handed === 0 && bucket.next <= 0
  if (tag < expected && expected > bucket.virtual && !isResting) world.breaks('L12 tag forgotten')
  const joins = before.standing !== IN && standing === IN
  // What comes back takes part where it did before.
  if (joins && moved >= 0 && tag < before.virtual) world.breaks('L12 newcomer')
  const raised = joins ? bucket.joining : before.tag
  const most = moved < 0 ? expected : Math.max(before.tag, bucket.virtual, raised) + moved
  if (tag > most) world.breaks('L12 charged for nothing')
}
