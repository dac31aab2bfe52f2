import { quote } from '../core/describe.ts'
import { isTotal } from '../core/key.ts'
import { isSteady, type Limit } from '../core/limit.ts'
import { lengthOf } from '../core/quota.ts'
import type { Costs } from '../core/usage.ts'
import { ROUNDING } from './gcra.ts'
import type { Breach, HistoryEvent, LimitEvent, SettleEvent, StartEvent } from './history.ts'
import { instant, span } from './law.ts'
import { unitsIn } from './quota-book.ts'
import { beginAnew, type Member, type Sharer, Sharers, sharedWith } from './sharers.ts'
import { isWithin } from './totals.ts'

interface Job {
  readonly key: string
  readonly cost: number
  readonly costs?: Costs | undefined
}

/**
 * L12: while two children of a total can both go, what each gets, for its weight, differs by no more than the largest job of each, for
 * its weight, and the largest of the family; and by what is handed over and has not started. What a job uses is its share of the part of
 * the total of which it takes most. Where a settlement says that it used more, the others may have as much more, and need
 * not get it.
 *
 * At each start below the total it is judged who could have gone: a job waited, nothing on its way was frozen or paused, and its own
 * pace and those of the totals between allowed a start. A child is not judged while its own limit, or one between, has quotas or places, or warms up:
 * what these allow depends on more than an observer knows.
 */
export class Fairness {
  readonly breaches: Breach[] = []
  readonly #total: string
  readonly #handed: number
  readonly #sharers: Sharers
  readonly #jobs = new Map<string, Job>()
  /** The last start of each job that may be settled. */
  readonly #started = new Map<string, StartEvent>()
  /** Of the family: the largest use of one job, for the weight of its child. */
  #largest = 0
  /** When the pace of the total lets the next start come, after the last one. */
  #opensAt = Number.NEGATIVE_INFINITY

  /** @param handed so much of the time of the total may have been handed over, and not have started; microseconds */
  constructor(total: string, handed = 0) {
    this.#total = total
    this.#sharers = new Sharers(total)
    this.#handed = handed
  }

  see(event: HistoryEvent): void {
    switch (event.type) {
      case 'limit':
        this.#replaceLimit(event)
        break
      case 'unset':
        if (!isWithin(event.key, this.#total)) break
        this.#sharers.remove(event.key)
        this.#noteBelow(event.key)
        break
      case 'answer':
        if (event.accepted && isWithin(event.key, this.#total)) this.#admit(event.id, event, event.at)
        break
      case 'start':
        if (isWithin(event.key, this.#total)) this.#start(event)
        break
      case 'settle':
        this.#settle(event)
        break
      case 'return': {
        const job = this.#jobs.get(event.id)
        if (job !== undefined)
          this.#sharers.member(job.key).waiting.set(event.id, Math.max(event.at, event.readyAt))
        break
      }
      case 'end': {
        const job = this.#jobs.get(event.id)
        if (job !== undefined) this.#sharers.member(job.key).waiting.delete(event.id)
        this.#jobs.delete(event.id)
        // A turn may be settled after its end.
        if (this.#started.get(event.id)?.isHeld === undefined) this.#started.delete(event.id)
        break
      }
      case 'freeze': {
        const member = this.#sharers.member(event.key)
        member.frozenUntil = Math.max(member.frozenUntil, event.until)
        break
      }
      case 'unfreeze':
        this.#sharers.member(event.key).frozenUntil = Number.NEGATIVE_INFINITY
        break
      case 'pause':
      case 'resume':
        this.#sharers.member(event.key).isPaused = event.type === 'pause'
        break
    }
  }

  #replaceLimit({ key, limit }: LimitEvent): void {
    const isNew = !this.#sharers.has(key)
    const member = this.#sharers.member(key)
    member.limit = limit
    member.weight = limit.weight
    if (isNew && isTotal(key) && isWithin(key, this.#total)) {
      this.#sharers.regroup(key)
      this.#noteBelow(key)
    } else if (key === this.#total) this.#beginAll()
  }

  /** The same jobs use another amount of another limit. */
  #beginAll(): void {
    this.#largest = 0
    for (const sharer of this.#sharers.all()) {
      sharer.largest = 0
      sharer.ahead.clear()
    }
    for (const job of this.#jobs.values()) this.#note(job)
  }

  #noteBelow(total: string): void {
    for (const job of this.#jobs.values()) if (isWithin(job.key, total)) this.#note(job)
  }

  #note(job: Job): void {
    const { limit } = this.#sharers.member(this.#total)
    if (limit === undefined) return
    const sharer = this.#sharers.of(job.key)
    sharer.largest = Math.max(sharer.largest, useOf(limit, job))
    this.#largest = Math.max(this.#largest, sharer.largest / sharer.member.weight)
  }

  #admit(id: string, job: Job, at: number): void {
    if (at >= this.#opensAt) this.#sharers.rest()
    this.#jobs.set(id, job)
    this.#sharers.member(job.key).waiting.set(id, at)
    this.#note(job)
  }

  #start(start: StartEvent): void {
    const went = this.#sharers.of(start.key)
    const limit = this.#sharers.member(this.#total).limit
    if (limit !== undefined) {
      this.#judge(start, went, useOf(limit, this.#counted(start)))
      this.#opensAt = Math.max(this.#opensAt, start.at + limit.interval * start.cost)
    }
    // What it had used more than others know of is evened out: it is its turn.
    went.overdrawn = 0
    this.#started.set(start.id, start)
    this.#sharers.member(start.key).waiting.delete(start.id)
    for (const member of went.ways.get(start.key)!) {
      if (member.limit !== undefined) member.starts.take(start, [member.limit])
    }
  }

  #counted({ id, key, cost, costs = this.#jobs.get(id)?.costs }: StartEvent): Job {
    return { key, cost, costs }
  }

  /** It counts once for each start. */
  #settle({ id, fence, amounts }: SettleEvent): void {
    const start = this.#started.get(id)
    const { limit } = this.#sharers.member(this.#total)
    if (start === undefined || limit === undefined) return
    if (fence !== undefined && start.fence !== undefined && fence !== start.fence) return
    this.#started.delete(id)
    const counted = this.#counted(start)
    const used = { ...counted, costs: { ...counted.costs, ...amounts } }
    this.#note(used)
    const sharer = this.#sharers.of(start.key)
    this.#sharers.settle(sharer, (useOf(limit, used) - useOf(limit, counted)) / sharer.member.weight)
  }

  #judge(start: StartEvent, went: Sharer, use: number): void {
    const share = use / went.member.weight
    const wentCould = this.#couldGo(went, start.at)
    if (!wentCould) beginAnew(went)
    for (const other of this.#sharers.all()) {
      if (other === went) continue
      const shared = sharedWith(went, other, share)
      if (!this.#couldGo(other, start.at)) beginAnew(other)
      else if (wentCould) {
        const got = (went.ahead.get(other) ?? 0) + shared
        went.ahead.set(other, got)
        other.ahead.set(went, Math.max(0, (other.ahead.get(went) ?? 0) - share))
        const most = this.#largest + this.#mostOf(went) + this.#mostOf(other)
        if (got > most + ROUNDING) this.#report(start, went, other, got, most)
      }
    }
  }

  #mostOf({ largest, member }: Sharer): number {
    return (largest + this.#handed) / member.weight
  }

  #couldGo({ ways }: Sharer, at: number): boolean {
    for (const [key, way] of ways) {
      const { waiting } = this.#sharers.member(key)
      if (waiting.size === 0 || !way.every((member) => isOpen(member, at))) continue
      for (const since of waiting.values()) if (since <= at) return true
    }
    return false
  }

  #report({ at, id, key }: StartEvent, went: Sharer, other: Sharer, got: number, most: number): void {
    this.breaches.push({
      law: 'L12',
      at,
      key,
      id,
      message:
        `total ${quote(this.#total)}: with the start of job ${quote(id)} at ${instant(at)}, ${quote(went.member.name)} had ` +
        `${span(got)} of it more, for its weight, than ${quote(other.member.name)} while both could go, expected at most ${span(most)}`,
    })
  }
}

function isOpen({ limit, frozenUntil, isPaused, starts }: Member, at: number): boolean {
  if (limit === undefined || !isSteady(limit) || isPaused || frozenUntil > at) return false
  return starts.due(limit) <= at
}

function useOf(limit: Limit, job: Job): number {
  const uses = limit.quotas.map((quota) => (unitsIn(quota, job) * lengthOf(quota.window)) / quota.amount)
  return Math.max(limit.interval * job.cost, ...uses)
}
