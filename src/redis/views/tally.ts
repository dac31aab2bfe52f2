import { BUCKET_STATES } from '../../core/bucket-view.ts'
import { type BucketTally, emptyTally, type TallyGroup } from '../../line/bucket-query.ts'
import { type Answer, list, number, rest, row, text } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import { PacedSlices, SLICE_SIZE } from './paced-slices.ts'

const groupRow = row({
  buckets: number,
  idle: number,
  waiting: number,
  full: number,
  frozen: number,
  paused: number,
  units: number,
  jobs: number,
  retrying: number,
  running: number,
})

const tallyScript = defineScript(
  'tally',
  import.meta.url,
  list(row({ now: number, cursor: text, groups: rest(groupRow) })),
)

/** Each bucket is compared with so many names in the time that its record takes. */
const NAMES_PER_RECORD = 40

/** Sums over all live buckets, slice by slice and by their records alone. */
export async function tally(store: Store, groups: readonly TallyGroup[]): Promise<BucketTally[]> {
  const tallies = groups.map(emptyTally)
  const names = groups.flatMap((keys) => [keys.length, ...keys])
  const size = Math.max(1, Math.floor(SLICE_SIZE / (1 + names.length / NAMES_PER_RECORD)))
  const slices = new PacedSlices()
  for (const shard of store.tags.keys()) {
    let cursor = '0'
    do {
      const values = [cursor, size, ...names]
      const slice = await slices.next(() => store.read(tallyScript, shard, values))
      for (const [index, sums] of slice.groups.entries()) add(tallies[index]!, sums)
      cursor = slice.cursor
    } while (cursor !== '0')
  }
  return tallies
}

function add(tally: BucketTally, sums: Answer<typeof groupRow>): void {
  tally.buckets += sums.buckets
  for (const state of BUCKET_STATES) tally.states[state] += sums[state]
  tally.waiting += sums.units
  tally.jobs += sums.jobs
  tally.retrying += sums.retrying
  tally.running += sums.running
}
