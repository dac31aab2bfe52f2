// As src/redis/scripts/lib/chosen.lua.
import { dueOf as dueOfBucket } from '../../store/line.ts'
import type { BucketPlace } from './bucket-place.ts'
import type { Family } from './family.ts'
import { departureBelow, settle, standingIn, wake } from './share.ts'
import { READY, Total } from './total.ts'

const MOST_LOOKS = 50

/** The bucket whose head departs next below the outermost total, if one does within the look-ahead. */
export function choose(family: Family, outermost: Total): BucketPlace | undefined {
  const horizon = family.setup.lookAhead
  family.horizon = horizon
  let total = outermost
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    family.settleAll(false)
    total.marks.heed(family)
    const { due } = departureBelow(family, total)
    if (due <= horizon && wake(family, total, horizon)) {
      total = outermost
      continue
    }
    const [first] = due > horizon ? [] : standingIn(total, READY)
    if (first === undefined) {
      if (total === outermost) {
        if (due > horizon) family.touch(total)
        return undefined
      }
      settle(family, total, false)
      total = outermost
    } else if (first instanceof Total) {
      total = first
      family.takeTag(first)
    } else {
      const chosen = first as BucketPlace
      const own = dueOfBucket(chosen.shard)
      if (own <= horizon) {
        chosen.place.tag = chosen.place.readyTag
        return chosen
      }
      chosen.stand(own)
      total = outermost
    }
  }
  return undefined
}
