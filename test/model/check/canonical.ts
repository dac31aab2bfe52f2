import {
  CHECKED,
  DONE,
  ENDING,
  type Entry,
  FREE,
  GATED,
  LAPSED,
  type Pair,
  type Scheduler,
  STARTED,
  type World,
} from '../actors/world.ts'
import type { Fields } from '../store/cells.ts'
import { type Bounds, boundsOf, longestWindow, settleForm } from './shard-form.ts'

/**
 * Gives one form to states that differ only in what no step can tell apart: names of workers and schedulers, the order in which
 * jobs are held, numbers of epochs and fences, and times that are too long ago to matter.
 */
export class Canonical {
  readonly #world: World
  readonly #bounds: Bounds
  readonly #longest: number

  constructor(world: World) {
    this.#world = world
    this.#bounds = boundsOf(world.setup)
    this.#longest = longestWindow(world.setup)
  }

  apply(): void {
    const world = this.#world
    settleForm(world.shard, this.#bounds)
    if (world.copy !== world.shard) {
      if (world.globals.hasCopy === 1) settleForm(world.copy, this.#bounds)
      else world.copy.clear()
    }
    const { globals, setup, ends } = world
    // It matters to what counts in quotas, and only whether it is too long ago.
    if (this.#longest === 0 || globals.copiedAt < -setup.durations.lost) globals.copiedAt = ends.never
    for (const time of ['tat', 'frozenUntil'] as const) {
      if (world.globals[time] <= this.#bounds.oldest) world.globals[time] = world.ends.never
    }
    if (world.globals.tat === world.ends.never) world.globals.startedCost = 0
    for (const told of world.told) {
      if (told.told < DONE || told.told > LAPSED) continue
      told.spare = 0
      told.hasStarted = 1
      told.isExempt = 0
      told.isRetry = 0
      told.passed = 0
      told.isExcused = 0
    }
    world.ledger.settleForm(world.shard)
    for (const { entries } of world.workers) for (const entry of entries) this.#settleEntry(entry)
    if (!world.shard.has('epochs-from-one'))
      for (let job = 0; job < world.told.length; job++) this.#rankEpochs(job)
    this.#rankFences()
    for (const { entries } of world.workers) sortPair(world, entries)
    this.#sortDeliveries()
    this.#swapSchedulers()
    this.#swapWorkers()
  }

  #settleEntry(entry: Entry): void {
    const { ends } = this.#world
    if (entry.until < -1) entry.until = -1
    if (entry.slot <= this.#bounds.oldest) entry.slot = ends.never
    // That it has started remains, however long ago that was.
    if (entry.startedAt !== ends.never && entry.startedAt <= this.#bounds.counted)
      entry.startedAt = ends.never + 1
    if (entry.startAt <= this.#bounds.oldest) entry.startAt = ends.never
    const { phase } = entry
    if (phase === FREE) this.#world.freeEntry(entry)
    if (phase === CHECKED) entry.until = ends.never
    if (phase !== GATED && entry.hasMissed === 0) entry.slot = ends.never
    if (phase !== STARTED && phase !== ENDING) entry.startedAt = ends.never
  }

  /** Only whether two epochs of a job are the same matters. */
  #rankEpochs(job: number): void {
    const world = this.#world
    const { shard, copy, references } = world
    const record = shard.jobs[job]!
    const copied = copy.jobs[job]!
    let seen = 1 | (1 << record.epoch) | (1 << copied.epoch)
    for (const reference of references) if (reference.job === job + 1) seen |= 1 << reference.epoch
    if ((seen & (seen + 1)) === 0) return
    record.epoch = rankIn(seen, record.epoch)
    if (copied !== record) copied.epoch = rankIn(seen, copied.epoch)
    for (const reference of references) {
      if (reference.job === job + 1) reference.epoch = rankIn(seen, reference.epoch)
    }
  }

  /** Fences order the jobs that were given back; with the mutant that counts them, their numbers matter. */
  #rankFences(): void {
    const { shard, copy } = this.#world
    if (shard.has('fence-counts')) return
    let seen = 1
    for (const { fence } of shard.jobs) seen |= 1 << fence
    if (copy !== shard) for (const { fence } of copy.jobs) seen |= 1 << fence
    if ((seen & (seen + 1)) === 0) return
    for (const job of shard.jobs) job.fence = rankIn(seen, job.fence)
    if (copy !== shard) for (const job of copy.jobs) job.fence = rankIn(seen, job.fence)
  }

  #sortDeliveries(): void {
    const { deliveries } = this.#world
    for (let end = deliveries.length - 1; end > 0; end--) {
      for (let at = 0; at < end; at++) {
        const [one, other] = [deliveries[at]!, deliveries[at + 1]!]
        if (placeOf(one) > placeOf(other)) swapPairs(one, other)
      }
    }
  }

  #swapSchedulers(): void {
    const { schedulers, shard, copy, late, cells } = this.#world
    const [one, other] = schedulers
    const difference = orderOf(one!) - orderOf(other!)
    if (difference > 0 || (difference === 0 && shard.meta.leader !== 2)) return
    swapRanges(cells, one!.state, other!.state)
    shard.meta.leader = swapped(shard.meta.leader)
    if (copy !== shard) copy.meta.leader = swapped(copy.meta.leader)
    if (late.verb === 1) late.worker = swapped(late.worker)
  }

  #swapWorkers(): void {
    const { workers, shard, copy, late, cells } = this.#world
    const [one, other] = workers
    const at = baseOf(one!.state)
    const size = baseOf(other!.state) - at
    let difference = 0
    for (let index = 0; index < size && difference === 0; index++)
      difference = cells[at + index]! - cells[at + size + index]!
    if (difference === 0) {
      for (const { worker } of shard.jobs)
        if (difference === 0 && (worker === 1 || worker === 2)) difference = worker === 1 ? 1 : -1
    }
    if (difference >= 0) return
    swapRanges(cells, one!.state, other!.state)
    for (const store of copy === shard ? [shard] : [shard, copy]) {
      for (const job of store.jobs) job.worker = swapped(job.worker)
      store.meta.stepTellers = ((store.meta.stepTellers & 1) << 1) | ((store.meta.stepTellers & 2) >> 1)
    }
    if (late.verb > 1) late.worker = swapped(late.worker)
  }
}

/** How many of the bits that are set are below that one. */
export function rankIn(bits: number, bit: number): number {
  let below = 0
  for (let lower = 0; lower < bit; lower++) below += (bits >> lower) & 1
  return below
}

const swapped = (name: number) => (name === 1 ? 2 : name === 2 ? 1 : name)
export const baseOf = (record: unknown) => (record as { readonly base: number }).base

const placeOf = ({ job, epoch }: Pair) => (job === 0 ? 1_000 : job * 16 + epoch)
const orderOf = ({ claimed, state }: Scheduler) => {
  let order = state.isStopped
  for (const { job, epoch } of claimed) order = order * 32 + job * 8 + epoch
  return order
}

function swapPairs(one: Pair, other: Pair): void {
  const { job, epoch } = one
  Object.assign(one, { job: other.job, epoch: other.epoch })
  Object.assign(other, { job, epoch })
}

/** Swaps two processes, or two records, whose cells lie behind each other. */
export function swapRanges(cells: World['cells'], one: Fields<string>, other: Fields<string>): void {
  const [from, to] = [baseOf(one), baseOf(other)]
  for (let index = 0; index < to - from; index++) {
    const cell = cells[from + index]!
    cells[from + index] = cells[to + index]!
    cells[to + index] = cell
  }
}

/** Puts the two jobs of a worker in order. */
function sortPair(world: World, entries: readonly Entry[]): void {
  const one = entries[0]!
  const other = entries[1]!
  if ((one.job - other.job || one.epoch - other.epoch) < 0) swapRanges(world.cells, one, other)
}
