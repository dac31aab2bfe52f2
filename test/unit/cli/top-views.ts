import type { BucketView } from '../../../src/core/bucket-view.ts'
import type { FamilyView } from '../../../src/core/family-view.ts'

/** Epoch milliseconds of the line's own clock in these views. */
export const AT = 1_700_000_000_000

/** A bucket as a line shows it: half full, its next departure in 40 ms. */
export function view(key: string, more: Partial<BucketView> = {}): BucketView {
  return {
    key,
    pattern: '*',
    limit: '100, 10/s',
    state: 'waiting',
    waiting: 50,
    capacity: 100,
    fill: 0.5,
    jobs: 50,
    retrying: 0,
    running: 1,
    nextDepartureAt: AT + 40,
    oldestWaitMs: 5_000,
    waitingSince: AT - 5_000,
    paused: false,
    lastUsedAt: AT,
    durability: 'memory',
    ...more,
  }
}

/** A total of three children: half full, its next departure in 40 ms. */
export function family(path: string, more: Partial<FamilyView> = {}): FamilyView {
  return {
    path,
    pattern: path,
    limit: '100, 10/s',
    state: 'waiting',
    waiting: 50,
    capacity: 100,
    fill: 0.5,
    running: 1,
    children: 3,
    nextDepartureAt: AT + 40,
    paused: false,
    ...more,
  }
}
