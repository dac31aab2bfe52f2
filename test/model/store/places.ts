// As `usage.is_full` in src/redis/scripts/lib/charge.lua.
import { RUNNING, type Shard } from './shard.ts'

/** A place is a running attempt: there is nothing that could be counted wrong. */
function placesTaken(shard: Shard): number {
  if (isCounter(shard)) return shard.bucket.taken
  return shard.jobs.filter(({ state }) => state === RUNNING).length
}

/** Whether every place is taken, by what runs and by so many more. */
export function isFull(shard: Shard, more = 0): boolean {
  const { places = Number.POSITIVE_INFINITY } = shard.limit
  return placesTaken(shard) + more >= places
}

function isCounter(shard: Shard): boolean {
  return shard.has('place-counter-leaks') || shard.has('place-counted-twice')
}

/** Only of mutants: a number that is to go up with each start, and down with each end. */
export function countPlace(shard: Shard, by: 1 | -1): void {
  if (isCounter(shard)) shard.bucket.taken += by
}
