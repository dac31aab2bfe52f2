import type { BucketView } from '../../core/bucket-view.ts'
import { monotonicNow } from '../../core/clock.ts'
import { MILLISECOND } from '../../core/duration.ts'
import type { Shaper } from '../../shaper/shaper.ts'
import type { FullBucket, SnapshotEvent } from '../wire.ts'

const FULLEST = 10
/** A recount reads every line, so it is limited to this many buckets. */
const MOST_AUDITED = 1_000

interface Group {
  readonly prefixes: readonly string[]
}

/**
 * Reads a snapshot for each group of prefixes, all in one walk over the live buckets; the fullest come from the index by
 * fill. Beyond some tens of thousands of buckets it takes longer than a second, without blocking anything else.
 */
export async function readSnapshots(
  shaper: Shaper,
  groups: ReadonlyMap<string, Group>,
): Promise<ReadonlyMap<string, SnapshotEvent>> {
  const at = monotonicNow() / MILLISECOND
  const tallies = await shaper.tally([...groups.values()].map(({ prefixes }) => prefixes))
  const snapshots = new Map<string, SnapshotEvent>()
  for (const [index, [group, { prefixes }]] of [...groups].entries()) {
    const tally = tallies[index]!
    const isAudited = prefixes.length === 0 && tally.buckets <= MOST_AUDITED
    snapshots.set(group, {
      at,
      ...tally,
      fullest: (await fullestOf(shaper, prefixes)).map(shortly),
      ...(isAudited && { audit: await shaper.audit() }),
    })
  }
  return snapshots
}

async function fullestOf(shaper: Shaper, prefixes: readonly string[]): Promise<readonly BucketView[]> {
  if (prefixes.length === 0) return (await shaper.buckets({ limit: FULLEST })).buckets
  const pages = await Promise.all(prefixes.map((under) => shaper.buckets({ under, limit: FULLEST })))
  const found = new Map(pages.flatMap(({ buckets }) => buckets).map((view) => [view.key, view]))
  return [...found.values()].sort((a, b) => b.fill - a.fill).slice(0, FULLEST)
}

function shortly(view: BucketView): FullBucket {
  const { key, state, waiting, capacity, fill, jobs, oldestWaitMs, nextDepartureAt } = view
  return { key, state, waiting, capacity, fill, jobs, oldestWaitMs, nextDepartureAt }
}
