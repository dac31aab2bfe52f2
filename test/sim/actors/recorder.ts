import { isVelvetRopeError, type Shaper } from '../../../src/index.ts'
import type { HistoryEvent } from '../../../src/testing.ts'
import { isTurnId } from '../../support/turn-id.ts'
import type { SimProcess } from '../world/process.ts'
import type { SimServer } from '../world/server.ts'
import type { World } from '../world/world.ts'

const MS = 1_000
/** Timers fire so early at most; milliseconds. */
const EARLY = 1

/** One event of the history, and who saw it. */
export interface Seen {
  readonly by: string
  event: HistoryEvent
  /** When it was written down; microseconds. */
  readonly toldAt?: number
  /** Of an end: the process that held the job fell silent, and no other process knows whether it had started. */
  readonly isLost?: boolean
  /** Of a refusal: the total that had no room. */
  readonly total?: string
}

/** A question what a start counts. Microseconds. */
export interface Asked {
  readonly at: number
  /** Its answer came; absent: none did. */
  until?: number
  readonly key: string
  readonly fence: number
  readonly amounts: Readonly<Record<string, number>>
  /** Absent: it is not known whether it was carried out. */
  answer?: boolean
}

/** Of the start with that fence nothing runs any more in its process, and no place is needed. */
export interface Left {
  /** Microseconds. */
  readonly at: number
  readonly key: string
  readonly fence: number
}

/** A job that came back when its lease had ended. */
export interface Recovered {
  readonly at: number
  readonly id: string
  readonly key: string
  /** It had its slot. */
  readonly mayHaveStarted: boolean
}

/** Something for the reader of a failure. */
export interface Note {
  readonly at: number
  readonly by: string
  readonly text: string
}

/**
 * The record of a run, by the clock of the world. What the store decides has the time at which it did so; a process that was
 * killed writes nothing down.
 */
export class Recorder {
  readonly seen: Seen[] = []
  readonly notes: Note[] = []
  /** Handlers that ended in a way that lets their jobs start again; the store may know, and its answer be lost. */
  readonly settled: {
    readonly at: number
    readonly id: string
    readonly attempt: number
    readonly reason: 'retry' | 'freeze'
  }[] = []
  readonly asked: Asked[] = []
  /** Handlers that ended or were aborted, and turns that were given back, or will be. */
  readonly left: Left[] = []
  /** Totals that were taken away, and when: between these times. */
  readonly unset: { readonly at: number; readonly until: number; readonly key: string }[] = []
  /** What handlers were given, in the order of their first statements. */
  readonly fences: {
    readonly at: number
    readonly key: string
    readonly id: string
    readonly fence: number
  }[] = []
  /** Jobs that came back when their leases had ended. */
  readonly recovered: Recovered[] = []
  /** Requests that failed, and were not made again; `at`: when they were made. */
  readonly givenUp: { readonly at: number; readonly id: string }[] = []
  /** Data that handlers were given, and that are not those of their jobs. */
  readonly strange: {
    readonly at: number
    readonly id: string
    readonly got: string
    readonly expected: string
  }[] = []
  readonly errors: { readonly process: SimProcess; readonly at: number; readonly error: Error }[] = []
  /** When the opening or a call of a process was last answered. */
  readonly answeredAt = new Map<SimProcess, number>()
  /**
   * Calls that were answered with an error that says that the store is away: how long that took, and how many requests a call makes
   * at most, one after the other.
   */
  readonly unavailable: {
    readonly process: SimProcess
    readonly at: number
    readonly took: number
    readonly requests: number
  }[] = []
  readonly #world: World
  readonly #server: SimServer<unknown>
  /** The jobs of each process that have started there and of which it knows no end. */
  readonly #running = new Map<SimProcess, Set<string>>()
  readonly #answered = new Set<string>()
  readonly #onTurnEnd: (id: string) => void
  /** Jobs that were accepted and of which no end has been written down; undefined: what was seen has changed since they were counted. */
  #underWay: number | undefined

  /** @param onTurnEnd called for the ends of turns */
  constructor(world: World, server: SimServer<unknown>, onTurnEnd: (id: string) => void) {
    this.#world = world
    this.#server = server
    this.#onTurnEnd = onTurnEnd
  }

  runningIn(process: SimProcess): Set<string> {
    let running = this.#running.get(process)
    if (running === undefined) {
      running = new Set()
      this.#running.set(process, running)
    }
    return running
  }

  /** Whether a process lived to hear that the job was accepted. */
  isAnswered(id: string): boolean {
    return this.#answered.has(id)
  }

  /** Whether it was written down how the job ended. */
  hasEnd(id: string): boolean {
    return this.seen.some(({ event }) => event.type === 'end' && event.id === id)
  }

  /** When the last of what was written down about the job happened; -Infinity: nothing was. */
  lastOf(id: string): number {
    const times = this.seen.flatMap(({ event }) => ('id' in event && event.id === id ? [event.at] : []))
    return Math.max(Number.NEGATIVE_INFINITY, ...times)
  }

  /** How many jobs were accepted of which no end has been written down. */
  get underWay(): number {
    this.#underWay ??= countUnderWay(this.seen)
    return this.#underWay
  }

  note(process: SimProcess | undefined, text: string): void {
    this.notes.push({ at: this.#world.present, by: process?.name ?? 'fate', text })
  }

  add(
    process: SimProcess | undefined,
    event: HistoryEvent,
    facts: Omit<Seen, 'by' | 'event' | 'toldAt'> = {},
  ): void {
    if (process !== undefined && !process.isAlive) return
    if (event.type === 'answer' && event.accepted) this.#answered.add(event.id)
    if (process !== undefined) {
      if (event.type === 'start') this.runningIn(process).add(event.id)
      if (event.type === 'end' || event.type === 'return') this.runningIn(process).delete(event.id)
    }
    if (process !== undefined && event.type === 'end' && isTurnId(event.id)) this.#onTurnEnd(event.id)
    this.seen.push({ by: process?.name ?? 'fate', event, toldAt: this.#world.present, ...facts })
    this.#underWay = undefined
  }

  /**
   * A process was killed. One that had been stopped in the middle of an event ran the rest of it at once, as of when it would have
   * gone on: that never happened.
   */
  died({ name }: SimProcess, at: number): void {
    const isVoid = ({ by, event }: Seen) => by === name && event.at > at
    const starts = this.seen.filter((one) => isVoid(one) && one.event.type === 'start')
    remove(this.seen, isVoid)
    this.#underWay = undefined
    remove(this.fences, (given) =>
      starts.some(({ event }) => 'id' in event && event.id === given.id && event.at === given.at),
    )
  }

  /** Writes down that a process asks for a start to be settled. */
  ask(process: SimProcess, { key, fence, amounts }: Pick<Asked, 'key' | 'fence' | 'amounts'>): Asked {
    const asked = { at: process.read(), key, fence, amounts }
    if (process.isAlive) this.asked.push(asked)
    return asked
  }

  /** Writes down that what a start was for is over. */
  leave(process: SimProcess, { key, fence }: Pick<Left, 'key' | 'fence'>): void {
    if (process.isAlive) this.left.push({ at: this.#world.present, key, fence })
  }

  /** Writes down that a turn loses its place so many milliseconds after its start, unless it gives it back before. */
  expectLeave({ key, fence }: Pick<Left, 'key' | 'fence'>, ms: number): void {
    for (const { event } of this.seen) {
      if (event.type !== 'start' || event.key !== key || event.fence !== fence) continue
      this.left.push({ at: event.at + (ms - EARLY) * MS, key, fence })
    }
  }

  /** When it was so late by the clock of the store. It cannot have been later than now. */
  timeOf(atMs: number): number {
    return this.#server.worldTime(atMs * MS, this.#world.present)
  }

  /** Writes down all that a shaper reports. Starts of jobs are written down by their handlers. */
  watch<Data>(shaper: Shaper<Data>, process: SimProcess): void {
    const add = (event: HistoryEvent, facts?: Omit<Seen, 'by' | 'event'>) => this.add(process, event, facts)
    const time = (atMs: number) => this.timeOf(atMs)
    // Times to come follow the clock of the store as it goes now.
    const later = (fromMs: number, toMs: number) => time(fromMs) + (toMs - fromMs) * MS
    // What is asked for before that waits for it.
    void shaper.ready().then(
      () => this.answeredAt.set(process, process.read()),
      () => undefined,
    )
    shaper
      .on('admitted', ({ id, key, cost, costs, departsAt, isEstimate, at }) => {
        const said = { departsAt: later(at, departsAt), ...(isEstimate && { isEstimate }) }
        add({ type: 'answer', at: time(at), id, key, cost, ...(costs && { costs }), accepted: true, ...said })
      })
      .on('rejected', ({ id = '', key, cost, costs, reason, retryAfterMs, isEstimate, total, at }) => {
        const said = { reason, retryAt: time(at) + retryAfterMs * MS, ...(isEstimate && { isEstimate }) }
        const asked = { id, key, cost, ...(costs && { costs }) }
        const event = { type: 'answer', at: time(at), ...asked, accepted: false, ...said } as const
        add(event, { ...(total !== undefined && { total }) })
      })
      .on('departed', ({ id, key, cost, costs, attempt, fence, isHeld }) => {
        if (!isTurnId(id)) return
        const named = {
          id,
          key,
          cost,
          ...(costs && { costs }),
          attempt,
          fence,
          ...(isHeld !== undefined && { isHeld }),
        }
        add({ type: 'start', at: process.read(), ...named })
      })
      .on('settled', ({ id, key, amounts, fence, at }) => {
        add({ type: 'settle', at: time(at), id, key, amounts, fence })
      })
      .on('released', ({ id, key, at }) => add({ type: 'release', at: time(at), id, key }))
      .on('holdExpired', ({ id, key, at }) => add({ type: 'release', at: time(at), id, key }))
      .on('completed', ({ id, at }) => add({ type: 'end', at: time(at), id, outcome: 'completed' }))
      .on('failed', ({ id, at, retryAt, error }) => {
        if (retryAt !== undefined) {
          add({ type: 'return', at: time(at), id, reason: 'retry', readyAt: later(at, retryAt) })
          return
        }
        const isLost = isVelvetRopeError(error, 'worker-lost')
        add({ type: 'end', at: time(at), id, outcome: 'failed' }, { isLost })
      })
      .on('returned', ({ id, at, retryAt }) => {
        add({ type: 'return', at: time(at), id, reason: 'freeze', readyAt: later(at, retryAt) })
      })
      .on('recovered', ({ id, key, at, mayHaveStarted }) => {
        this.note(process, `recovered ${id}`)
        this.recovered.push({ at: time(at), id, key, mayHaveStarted })
      })
      .on('cancelled', ({ id, at }) => add({ type: 'end', at: time(at), id, outcome: 'cancelled' }))
      .on('expired', ({ id, at }) => add({ type: 'end', at: time(at), id, outcome: 'expired' }))
      .on('frozen', ({ key, at, until }) => {
        add({ type: 'freeze', at: time(at), key, until: later(at, until) })
      })
      .on('unfrozen', ({ key, at }) => add({ type: 'unfreeze', at: time(at), key }))
      .on('paused', ({ key, at }) => add({ type: 'pause', at: time(at), key }))
      .on('resumed', ({ key, at }) => add({ type: 'resume', at: time(at), key }))
      .on('limit', ({ pattern, at, limit }) => {
        if (limit !== undefined) add({ type: 'limit', at: time(at), key: pattern, limit })
      })
      .on('error', (error) => {
        if (process.isAlive) this.errors.push({ process, at: this.#world.present, error })
      })
  }
}

function remove<Item>(items: Item[], isOut: (item: Item) => boolean): void {
  const kept = items.filter((item) => !isOut(item))
  if (kept.length < items.length) items.splice(0, items.length, ...kept)
}

function countUnderWay(seen: readonly Seen[]): number {
  const open = new Set<string>()
  for (const { event } of seen) {
    if (event.type === 'answer' && event.accepted) open.add(event.id)
    if (event.type === 'end') open.delete(event.id)
  }
  return open.size
}
