import type { World } from './world.ts'

/**
 * The epoch of a new handover. The script takes the time in microseconds, or one more than the last where that is later: larger
 * than any before, also than those that a failover lost. Here that is one more than all that anything still names.
 */
export function stampFor(world: World, job: number): number {
  const { shard } = world
  const record = shard.jobs[job]!
  if (shard.has('epochs-from-one')) return record.epoch + 1
  let last = record.epoch
  for (const reference of world.references)
    if (reference.job === job + 1) last = Math.max(last, reference.epoch)
  return last + 1
}

/** The fence of a new start, in the same way; with the mutant it is counted by what the store holds alone. */
export function fenceFor(world: World): number {
  const { shard, globals } = world
  const { meta } = shard
  if (!shard.has('fence-counts')) {
    return Math.max(...shard.jobs.map(({ fence }) => fence)) + 1
  }
  meta.fence += 1
  if (meta.fence <= globals.topFence) world.breaks('fence')
  globals.topFence = Math.max(globals.topFence, meta.fence)
  return meta.fence
}
