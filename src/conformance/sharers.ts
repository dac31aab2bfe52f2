import { isTotal } from '../core/key.ts'
import type { Limit } from '../core/limit.ts'
import { Gcra } from './gcra.ts'
import { isWithin } from './totals.ts'

/** A key, or a total below the one that is judged. */
export interface Member {
  readonly name: string
  limit: Limit | undefined
  weight: number
  /** Its starts, and those of its family. */
  readonly starts: Gcra
  frozenUntil: number
  isPaused: boolean
  /** Its jobs that wait, by id, each with the time since when it could go. */
  readonly waiting: Map<string, number>
}

/** One of those who share the total. */
export interface Sharer {
  readonly member: Member
  /** The keys, each with all totals between it and the total that is judged. */
  readonly ways: Map<string, readonly Member[]>
  /** The largest use of one of its jobs. */
  largest: number
  /** How much more it got than another, for its weight, since any moment from which on both could go. */
  readonly ahead: Map<Sharer, number>
  /**
   * What it may have more than another besides, for its weight: settlements said that the other one's jobs used more than was counted at
   * their starts, or its own less.
   */
  readonly spare: Map<Sharer, number>
  /** What its jobs used more than was counted at their starts, for its weight, by what was settled since its last start. */
  overdrawn: number
}

/** Who shares a total: its keys and the totals below it, and to which child of the total each key belongs. */
export class Sharers {
  readonly #total: string
  readonly #members = new Map<string, Member>()
  readonly #sharers = new Map<Member, Sharer>()
  readonly #sharerOf = new Map<string, Sharer>()
  /** Nothing was settled since all were equal. */
  #isEven = true
  /** What children had used more than others knew of as they went: one that comes again has used it still. */
  readonly #overdrawn = new Map<string, number>()

  constructor(total: string) {
    this.#total = total
  }

  all(): Iterable<Sharer> {
    return this.#sharers.values()
  }

  /** Whether a job of any child waits. */
  get #haveWork(): boolean {
    for (const { waiting } of this.#members.values()) if (waiting.size > 0) return true
    return false
  }

  has(name: string): boolean {
    return this.#members.has(name)
  }

  member(name: string): Member {
    const known = this.#members.get(name)
    if (known !== undefined) return known
    const member: Member = {
      name,
      limit: undefined,
      weight: 1,
      starts: new Gcra(),
      frozenUntil: Number.NEGATIVE_INFINITY,
      isPaused: false,
      waiting: new Map(),
    }
    this.#members.set(name, member)
    return member
  }

  /** The child of the total to which the key belongs. */
  of(key: string): Sharer {
    const known = this.#sharerOf.get(key)
    if (known !== undefined) return known
    const between = [...this.#members.values()]
      .filter(({ name }) => isTotal(name) && isWithin(name, this.#total) && isWithin(key, name))
      .toSorted((a, b) => a.name.length - b.name.length)
    const way = [...between, this.member(key)]
    const [member] = way
    const sharer = this.#sharers.get(member!) ?? this.#begin(member!)
    sharer.ways.set(key, way)
    this.#sharerOf.set(key, sharer)
    return sharer
  }

  #begin(member: Member): Sharer {
    const overdrawn = this.#overdrawn.get(member.name) ?? 0
    const spare = this.#spareOfNewcomer()
    const sharer: Sharer = { member, ways: new Map(), largest: 0, ahead: new Map(), spare, overdrawn }
    for (const other of this.#sharers.values()) addTo(other.spare, sharer, overdrawn)
    this.#sharers.set(member, sharer)
    return sharer
  }

  /** A job of the child used so much more of the total, for its weight, than was counted at its start; or less. */
  settle(settled: Sharer, more: number): void {
    this.#isEven = false
    settled.overdrawn = Math.max(0, settled.overdrawn + more)
    for (const other of this.#sharers.values()) {
      if (other === settled) continue
      if (more > 0) addTo(other.spare, settled, sharedWith(settled, other, more))
      else addTo(settled.spare, other, sharedWith(other, settled, -more))
    }
  }

  /** Called while the total has room: if no child has work, all are equal again. */
  rest(): void {
    if (this.#isEven || this.#haveWork) return
    this.#isEven = true
    this.#overdrawn.clear()
    for (const sharer of this.#sharers.values()) {
      sharer.overdrawn = 0
      sharer.spare.clear()
    }
  }

  /** A newcomer waits for nothing that others used. */
  #spareOfNewcomer(): Map<Sharer, number> {
    const spare = new Map<Sharer, number>()
    for (const sharer of this.#sharers.values()) {
      if (sharer.overdrawn > 0) spare.set(sharer, Math.max(spare.get(sharer) ?? 0, sharer.overdrawn))
      for (const [other, share] of sharer.spare) spare.set(other, Math.max(spare.get(other) ?? 0, share))
    }
    return spare
  }

  /** A total is gone: its keys and the totals below it stand where it stood. */
  remove(total: string): void {
    this.#members.delete(total)
    this.regroup(total)
  }

  /** The keys below a total that is new, or gone, have other ways. What the other children got before still counts. */
  regroup(total: string): void {
    const keys = [...this.#sharerOf.keys()].filter((key) => isWithin(key, total))
    for (const key of keys) this.#sharerOf.delete(key)
    for (const [member, sharer] of this.#sharers) {
      if (member.name !== total && !isWithin(member.name, total)) continue
      beginAnew(sharer)
      const owed = [...this.#sharers.values()].map(({ spare }) => spare.get(sharer) ?? 0)
      this.#overdrawn.set(member.name, Math.max(sharer.overdrawn, ...owed))
      this.#sharers.delete(member)
    }
    for (const key of keys) this.of(key)
  }
}

function addTo(spare: Map<Sharer, number>, other: Sharer, share: number): void {
  if (share > 0) spare.set(other, (spare.get(other) ?? 0) + share)
}

/** Of a share that the child got, what was not to spare beside the other one. */
export function sharedWith({ spare }: Sharer, other: Sharer, share: number): number {
  const left = spare.get(other)
  if (left === undefined) return share
  if (left > share) spare.set(other, left - share)
  else spare.delete(other)
  return Math.max(0, share - left)
}

/** What the child got is compared with what others get from now on. */
export function beginAnew(sharer: Sharer): void {
  for (const other of sharer.ahead.keys()) other.ahead.delete(sharer)
  sharer.ahead.clear()
}
