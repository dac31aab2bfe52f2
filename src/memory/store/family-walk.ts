import { encodeCursor, FirstPlaces, readCursor } from '../../line/bucket-order.ts'
import { familyOrder, familyValue } from '../../line/family-order.ts'
import { type FamilyPage, type FamilyQuery, isFamilyUnder } from '../../line/family-query.ts'
import type { Walk } from './bucket-walk.ts'
import type { Families } from './families.ts'
import { familyViewOf } from './family-facts.ts'

/** Totals between two pauses: less than a millisecond. */
const SLICE = 2_000

/** The page of a query; it holds no more places than the page has, however many totals live. @throws InvalidOptionsError */
export function* listFamilies(families: Families, query: FamilyQuery, now: number): Walk<FamilyPage> {
  const order = familyOrder(query)
  const after = readCursor(query, order, 'families')
  const first = new FirstPlaces(order, after, query.limit + 1)
  let [total, looked] = [0, 0]
  for (const { path, waiting, running, bucket } of families.each()) {
    if (++looked % SLICE === 0) yield
    if (!isFamilyUnder(path, query)) continue
    total++
    const fill = waiting / bucket.limit.capacity
    first.offer(familyValue(order, { path, waiting, running, fill }), path)
  }
  const places = first.places.slice(0, query.limit)
  const last = first.places.length > places.length ? places.at(-1) : undefined
  const seen = (after?.seen ?? 0) + places.length
  return {
    families: places.flatMap(({ key }) => {
      // One may have been forgotten during the walk.
      const family = families.get(key)
      return family === undefined ? [] : [familyViewOf(family, now)]
    }),
    total,
    ...(last !== undefined && { cursor: encodeCursor(order, { ...last, at: 0, seen }) }),
  }
}
