import { setTimeout as passMs, setImmediate as passTurn } from 'node:timers/promises'
import { monotonicNow } from '../core/clock.ts'
import type { Audit } from '../core/conformance/history.ts'
import { MILLISECOND } from '../core/duration.ts'
import type { BucketState, BucketView } from '../core/job.ts'
import type { Shaper } from '../shaper/shaper.ts'
import { isWithin } from './access.ts'

const FULLEST = 10
/** So many pages, of about 200 buckets, are walked without a rest. */
const FAST_PAGES = 50
/** Between the pages after that, so that a walk over a million buckets takes a few percent of one processor. */
const REST_MS = 10

type Fullest = ReturnType<typeof shortly>

/** How the live buckets are that somebody may see. */
interface Snapshot {
  /** When it was begun, in milliseconds since the epoch. */
  readonly at: number
  buckets: number
  readonly states: Record<BucketState, number>
  /** Cost units. */
  waiting: number
  /** Jobs in the lines, jobs to be tried again, handlers that run. */
  jobs: number
  retrying: number
  running: number
  fullest: readonly Fullest[]
  /** Of all jobs ever; only for who may see every key, and where the buckets are not too many to recount each second. */
  audit?: Audit
  /** Jobs admitted, departed and turned away so far; only for who may see every key. */
  flow?: object
}

interface Group {
  readonly prefixes: readonly string[]
}

/**
 * A snapshot for each group of prefixes, all in one walk over the live buckets. With more than ten thousand it takes
 * longer than a second, and holds nobody up.
 */
export async function takeSnapshots(
  shaper: Shaper,
  groups: ReadonlyMap<string, Group>,
  flow: () => Promise<object | undefined>,
): Promise<ReadonlyMap<string, Snapshot>> {
  const at = monotonicNow() / MILLISECOND
  const snapshots = new Map([...groups.keys()].map((group) => [group, emptySnapshot(at)]))
  let pages = 0
  for await (const page of shaper.survey()) {
    for (const [group, { prefixes }] of groups) add(snapshots.get(group)!, page, prefixes)
    if (++pages < FAST_PAGES) await passTurn()
    else await passMs(REST_MS, undefined, { ref: false })
  }
  const [whole] = [...groups].find(([, { prefixes }]) => prefixes.length === 0) ?? []
  if (whole !== undefined) {
    const snapshot = snapshots.get(whole)!
    if (pages < FAST_PAGES) snapshot.audit = await shaper.audit()
    const totals = await flow()
    if (totals !== undefined) snapshot.flow = totals
  }
  return snapshots
}

function add(snapshot: Snapshot, page: readonly BucketView[], prefixes: readonly string[]): void {
  const seen = page.filter(({ key }) => isWithin(prefixes, key))
  for (const { state, waiting, jobs, retrying, running } of seen) {
    snapshot.buckets++
    snapshot.states[state]++
    snapshot.waiting += waiting
    snapshot.jobs += jobs
    snapshot.retrying += retrying
    snapshot.running += running
  }
  // A bucket may be met twice.
  const byKey = new Map([...snapshot.fullest, ...seen.map(shortly)].map((view) => [view.key, view]))
  snapshot.fullest = [...byKey.values()].sort((a, b) => b.fill - a.fill).slice(0, FULLEST)
}

function emptySnapshot(at: number): Snapshot {
  const states = { idle: 0, waiting: 0, full: 0, frozen: 0, paused: 0 }
  return { at, buckets: 0, states, waiting: 0, jobs: 0, retrying: 0, running: 0, fullest: [] }
}

function shortly(view: BucketView) {
  const { key, state, waiting, capacity, fill, jobs, oldestWaitMs, nextDepartureAt } = view
  return { key, state, waiting, capacity, fill, jobs, oldestWaitMs, nextDepartureAt }
}
