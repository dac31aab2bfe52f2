import { ENDING, FREE, GATED, LAPSED, REFUSED, STARTED } from '../../actors/world.ts'
import { baseOf, rankIn, swapRanges } from '../../check/canonical.ts'
import { type Bounds, boundsOf, settleForm } from '../../check/shard-form.ts'
import { setup as handoffSetup } from '../../configs.ts'
import type { ModelLimit } from '../../setup.ts'
import type { Clocked } from '../../store/grant.ts'
import { clampCells } from '../../store/times.ts'
import type { FamilyEntry, FamilyWorld } from '../actors/world.ts'
import { limitsOf } from '../setup.ts'
import { type Child, IN, LATER, READY, type Total } from '../store/total.ts'
import { drop, useOfUnit } from '../store/total-quotas.ts'

/** Gives one form to states that differ only in what no step can tell apart: see check/canonical.ts. */
export class FamilyCanonical {
  readonly #world: FamilyWorld
  readonly #bounds: Bounds
  /** No tag is of use that is so far behind virtual time. */
  readonly #furthest: number
  readonly #largest: number

  constructor(world: FamilyWorld) {
    const { buckets, totals, jobs, durations, tagParts } = world.setup
    this.#world = world
    const limits = [...buckets, ...totals].flatMap((child) => limitsOf(child))
    this.#bounds = boundsOf(handoffSetup('all limits', { jobs, limits, durations }))
    const lightest = Math.min(...[...buckets, ...totals].map(({ weight = 1 }) => weight))
    this.#largest = Math.max(...jobs.map(({ cost }) => cost))
    const mostUsed = Math.max(...world.family.totals.map((total) => useOfUnit(total)))
    this.#furthest = (this.#largest * mostUsed * tagParts) / lightest
  }

  apply(): void {
    const world = this.#world
    const { family, told, ends, earliest, startedCosts, timesOfLimits, cells } = world
    const isLeased = family.shards.some(({ jobs }) => jobs.some(({ lease }) => lease !== ends.far))
    for (const shard of family.shards) {
      const { heardAt } = shard.meta
      settleForm(shard, this.#bounds)
      shard.meta.heardAt = isLeased ? heardAt : 0
      const left = shard.setup.limits.slice(shard.bucket.limit)
      this.#forgetPast(shard, left)
      if (shard.bucket.from < -Math.max(...left.map(({ tolerance }) => tolerance)))
        shard.bucket.from = ends.never
    }
    for (const total of family.totals) this.#settleTotal(total)
    world.starts.settleForm()
    for (const place of family.places) this.#settleChild(place)
    clampCells(cells, timesOfLimits, 0, ends)
    for (const [place, cell] of earliest.entries())
      if (cells[cell] === ends.never) cells[startedCosts[place]!] = 0
    for (const one of told) {
      if (one.told < REFUSED || one.told > LAPSED) continue
      Object.assign(one, { spare: 0, isExcused: 0, hasStarted: 1 })
    }
    for (const { entries } of world.workers) for (const entry of entries) this.#settleEntry(entry)
    for (const job of told.keys()) this.#rankEpochs(job)
    for (const { jobs } of family.shards) rankFences(jobs)
    this.#sortDeliveries()
    for (const { entries } of world.workers) this.#sortEntries(entries)
    if (world.workers.length === 2) this.#swapWorkers()
  }

  /**
   * No clock is moved: a slot that is too late for the grid, or a start that keeps no other away, is over, by the limit and by that to
   * which it may be changed.
   */
  #forgetPast({ bucket, ends }: Clocked, limits: readonly ModelLimit[]): void {
    const tolerance = Math.max(...limits.map((limit) => limit.tolerance))
    const slowest = Math.max(...limits.map(({ interval }) => interval))
    const more = (slowest - limits[0]!.interval) * this.#largest
    if (bucket.next < -tolerance - more) bucket.next = ends.never
    if (bucket.frozen < -tolerance) bucket.frozen = ends.never
    if (bucket.lastStart < -slowest * this.#largest) bucket.lastStart = ends.never
    if (bucket.next !== ends.never || bucket.lastStart !== ends.never || !this.#bounds.isPlain) return
    Object.assign(bucket, { lastCost: 0, startedCost: 0 })
  }

  #settleTotal(total: Total): void {
    const { bucket, ends, children } = total
    const { oldest } = this.#bounds
    const { setup, family } = this.#world
    if (bucket.exists === 0) return
    drop(total)
    this.#forgetPast(total, total.limits.slice(bucket.limit))
    const below = family.places.filter(({ totals }) => totals.includes(total))
    if (below.every(({ shard }) => shard.bucket.granted === 0)) bucket.grantedSlot = ends.never
    else if (bucket.grantedSlot !== ends.never) bucket.grantedSlot = Math.max(oldest, bucket.grantedSlot)
    if (bucket.due <= setup.lookAhead) bucket.due = ends.never
    bucket.idleAt = Math.max(0, bucket.idleAt)
    const { durations, lookAhead, jobs } = setup
    const units = jobs.reduce((sum, { cost }) => sum + cost, 0)
    // All that was marked then is overdue.
    const oldestMark = -(lookAhead + units * total.limit.interval + durations.overdueGrace)
    if (bucket.markedAt <= oldestMark) bucket.markedAt = ends.never
    if (total.parent !== undefined) this.#settleChild(total)
    // With the mutant it matters how far the tags are from 0.
    if (!family.has('newcomer-at-zero')) {
      const { virtual } = bucket
      for (const child of children) {
        child.place.tag -= virtual
        if (child.place.place === READY) child.place.readyTag -= virtual
      }
      Object.assign(bucket, {
        virtual: 0,
        joining: bucket.joining - virtual,
        highest: bucket.highest - virtual,
      })
    }
    bucket.highest = Math.max(bucket.virtual, bucket.highest)
    bucket.joining = Math.max(bucket.virtual - this.#furthest, bucket.joining)
  }

  #settleChild({ place, parent }: Child): void {
    const { virtual } = parent!.bucket
    const { lookAhead } = this.#world.setup
    place.idleAt = Math.max(0, place.idleAt)
    if (place.place === LATER && place.dueAt <= lookAhead && this.#bounds.isPlain) place.dueAt = lookAhead
    if (this.#world.family.has('newcomer-at-zero')) return
    place.tag = Math.max(place.tag, place.standing === IN ? virtual - this.#furthest : virtual)
  }

  #settleEntry(entry: FamilyEntry): void {
    const { ends } = this.#world
    const { oldest } = this.#bounds
    const { phase } = entry
    if (phase === FREE) return
    if (entry.until < -1) entry.until = -1
    if (entry.slot <= oldest) entry.slot = ends.never
    if (entry.startedAt !== ends.never && entry.startedAt <= oldest) entry.startedAt = ends.never + 1
    if (phase === GATED) {
      entry.startAt = Math.max(entry.startAt, -1)
      entry.latest = Math.max(entry.latest, -1)
    } else if (entry.hasMissed === 0) entry.slot = ends.never
    if (phase !== STARTED && phase !== ENDING) entry.startedAt = ends.never
  }

  #rankEpochs(job: number): void {
    const world = this.#world
    const named = world.references.filter((reference) => reference.job === job + 1)
    const record = world.record(job)
    const seen = [record, ...named].reduce((bits, { epoch }) => bits | (1 << epoch), 1)
    for (const one of [record, ...named]) one.epoch = rankIn(seen, one.epoch)
  }

  #sortDeliveries(): void {
    const { deliveries } = this.#world
    const found = deliveries.filter(({ job }) => job !== 0).map(({ job, epoch }) => ({ job, epoch }))
    found.sort((one, other) => one.job - other.job || one.epoch - other.epoch)
    for (const [place, pair] of deliveries.entries())
      Object.assign(pair, found[place] ?? { job: 0, epoch: 0 })
  }

  #sortEntries(entries: readonly FamilyEntry[]): void {
    const [one, other] = entries
    if (one === undefined || other === undefined) return
    if ((one.job - other.job || one.epoch - other.epoch) < 0) swapRanges(this.#world.cells, one, other)
  }

  #swapWorkers(): void {
    const { workers, family, cells, workerSize } = this.#world
    const at = baseOf(workers[0]!.state)
    let difference = 0
    for (let index = 0; index < workerSize && difference === 0; index++)
      difference = cells[at + index]! - cells[at + workerSize + index]!
    const jobs = family.shards.flatMap((shard) => shard.jobs)
    const named = jobs.find(({ worker }) => worker === 1 || worker === 2)
    if (difference === 0 && named !== undefined) difference = named.worker === 1 ? 1 : -1
    if (difference >= 0) return
    swapRanges(cells, workers[0]!.state, workers[1]!.state)
    for (const job of jobs) if (job.worker === 1 || job.worker === 2) job.worker = 3 - job.worker
  }
}

/** Fences order the jobs that were given back. */
function rankFences(jobs: FamilyWorld['family']['shards'][number]['jobs']): void {
  const seen = jobs.reduce((bits, { fence }) => bits | (1 << fence), 1)
  for (const job of jobs) job.fence = rankIn(seen, job.fence)
}
