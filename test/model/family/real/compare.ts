import { Comparison, type Names } from '../../real/compare.ts'
import type { Texts } from '../../real/view.ts'
import { quotasOf } from '../../store/usage.ts'
import type { FamilyWorld } from '../actors/world.ts'
import type { BucketPlace } from '../store/bucket-place.ts'
import { type Child, LATER, READY, Total } from '../store/total.ts'
import type { TotalView } from './totals-view.ts'

/** Tags are sums of fractions. */
const ROUNDING = 1e-9

/** The first difference between a total of the model and that of the store. */
export function differenceOfTotal(
  world: FamilyWorld,
  total: Total,
  found: TotalView | undefined,
  names: Names,
): string | undefined {
  const compare = new Comparison(world, names)
  const { bucket } = total
  compare.same('total exists', bucket.exists, found === undefined ? 0 : 1)
  if (found === undefined || compare.difference !== undefined) return compare.difference
  for (const name of ['virtual', 'joining', 'largest', 'highest'] as const)
    tag(compare, name, bucket[name], found)
  for (const name of ['next', 'lastStart'] as const) compare.time(name, bucket[name], found)
  if (bucket.frozen > 0) compare.time('frozen', bucket.frozen, found)
  else compare.same('frozen', Number(found['frozen']) > names.instant(0), false)
  if (bucket.grantedSlot === world.ends.never) compare.same('grantedSlot', 0, Number(found['grantedSlot']))
  else compare.time('grantedSlot', bucket.grantedSlot, found)
  compare.time('markedAt', bucket.markedAt, found)
  const { family } = world
  for (const name of ['marked', 'overdue'] as const) {
    const { jobs, units } = total.marks[name](family)
    compare.same(name, units, Number(found[name]))
    compare.same(`${name}Jobs`, jobs, Number(found[`${name}Jobs`]))
  }
  for (const name of ['lastCost', 'startedCost', 'paused'] as const)
    compare.same(name, bucket[name], Number(found[name]))
  for (const name of ['waiting', 'running', 'inHanded', 'handed', 'grants'] as const) {
    compare.same(name, total.sums[name], Number(found[name]))
  }
  const children = total.children.filter((child) => isThere(child))
  if (quotasOf(total.limit).length > 0)
    compare.same('handed in quotas', total.sums.handed, Number(found['handedUnits']))
  for (const [index, part] of quotasOf(total.limit).entries()) {
    const entries = total.use
      .of(part)
      .entries()
      .filter(([end]) => end > 0)
    const texts = entries.map(([end, used]) => `${names.instant(end)} ${used}`)
    compare.same(`quota ${index}`, texts.join(' '), Object.values(found.quotas)[index])
  }
  compare.same('children', children.length, Number(found['children']))
  compare.same('takers', total.takers.length, Number(found['takers']))
  compare.same('weights', total.weights, Number(found['weights']))
  compare.time('idleAt', bucket.idleAt, found)
  if (total.parent === undefined) compare.time('due', bucket.due, found)
  else standing(compare, total, found)
  for (const child of total.children) inSets(compare, child, found)
  return compare.difference
}

export function differenceOfPlace(
  world: FamilyWorld,
  place: BucketPlace,
  found: (Texts & { readonly slots: readonly string[] }) | undefined,
  names: Names,
): string | undefined {
  if (place.shard.bucket.exists === 0 || found === undefined) return undefined
  const compare = new Comparison(world, names)
  standing(compare, place, found)
  compare.time('idleAt', place.place.idleAt, found)
  for (const index of place.totals.keys()) {
    const slot = place.slotOf(index)
    const stored = Object.values(found.slots)[index]
    if (slot === world.ends.never || stored === undefined) {
      compare.same(`slot ${index}`, slot === world.ends.never, stored === undefined)
    } else compare.time('slot', slot, { slot: stored })
  }
  return compare.difference
}

const isThere = (child: Child) =>
  child instanceof Total ? child.bucket.exists === 1 : (child as BucketPlace).shard.bucket.exists === 1

function standing(compare: Comparison, { place }: Child, found: Texts): void {
  tag(compare, 'tag', place.tag, found)
  compare.same('standing', place.standing, Number(found['standing']))
}

function inSets(compare: Comparison, { name, place }: Child, { later, ready }: TotalView): void {
  compare.same(`${name} in later`, place.place === LATER, later[name] !== undefined)
  compare.same(`${name} in ready`, place.place === READY, ready[name] !== undefined)
  if (compare.difference !== undefined) return
  if (place.place === LATER) compare.time(name, place.dueAt, later)
  if (place.place === READY) tag(compare, name, place.readyTag, ready)
}

function tag(compare: Comparison, what: string, model: number, found: Texts): void {
  if (Math.abs(model - Number(found[what])) > ROUNDING) compare.same(what, model, Number(found[what]))
}
