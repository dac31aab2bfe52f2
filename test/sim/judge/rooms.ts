import type { HistoryEvent } from '../../../src/testing.ts'
import { isTurnId } from '../../support/turn-id.ts'
import { parsedLimitOf } from '../actors/limit-of.ts'
import type { Recorder, Seen } from '../actors/recorder.ts'
import { UNIT } from '../plan/draw-sets.ts'
import type { Plan } from '../plan/plan.ts'
import { totalsAbove } from '../plan/total-plan.ts'
import { EPOCH } from '../world/process.ts'
import { travelOf } from './excuses.ts'
import { type Counting, SetRoom } from './set-room.ts'
import type { Circumstances } from './troubles.ts'

/** All know by then that the server has started anew, or that its clock was set; microseconds. */
const NOTICED = 5_000_000
/** A process that stands still so soon after a start may not have counted it yet; microseconds. */
const COUNTS = 50_000
const NEVER = Number.POSITIVE_INFINITY

/** What the record of a run says beside its history. */
export type Asking = Pick<Recorder, 'asked' | 'recovered'>

/** Something beside the history that changes what has room. */
interface Mark {
  readonly at: number
  readonly happen: () => void
}

/** When the quotas and places of each key have room, as a history is read. Microseconds of the world. */
export class Rooms {
  readonly #rooms: ReadonlyMap<string, SetRoom>
  readonly #counting = new Map<string, Counting>()
  readonly #keyOf = new Map<string, string>()
  /** By key: what may go before the first of those that are waited for. */
  readonly #others = new Map<string, Set<string>>()
  readonly #impatient: ReadonlySet<string>
  readonly #marks: Mark[]
  /** The most that a job may count. */
  readonly #costliest: Counting
  readonly #known: Circumstances
  readonly #by: ReadonlyMap<HistoryEvent, string>

  constructor(known: Circumstances, seen: readonly Seen[], { asked, recovered }: Asking) {
    const { plan, struck } = known
    const isSet = struck.some(({ fault }) => fault.kind === 'step')
    const ahead = isSet ? undefined : EPOCH + (plan.ahead ?? 0) * 1_000
    const travel = travelOf(plan) * 1_000
    this.#known = known
    this.#costliest = costliestOf(plan)
    this.#by = new Map(seen.map(({ event, by }) => [event, by]))
    this.#impatient = new Set(plan.jobs.flatMap(({ id, deadline }) => (deadline === undefined ? [] : [id])))
    this.#rooms = new Map(
      [...plan.keys, ...(plan.totals ?? [])].map((key) => {
        const limit = parsedLimitOf(key)
        return [key.key, new SetRoom({ limit, asked, ahead, travel })]
      }),
    )
    const comesBack = recovered.map(({ at, id, key }) => ({ at, happen: () => this.#recover(id, key, at) }))
    const anew = struck.filter(({ fault }) => fault.kind === 'restart' || fault.kind === 'step')
    const unknown = anew.map(({ from, until }) => ({
      at: from,
      happen: () => {
        for (const room of this.#rooms.values()) room.forget(until + NOTICED)
      },
    }))
    this.#marks = [...comesBack, ...unknown].sort((a, b) => a.at - b.at)
  }

  /** Takes note of all that happened until `at`, beside the history. */
  until(at: number): void {
    while (this.#marks[0] !== undefined && this.#marks[0].at <= at) this.#marks.shift()!.happen()
  }

  /** When the job has room, from `slot` on, at the latest, also below totals; Infinity: that is not known. */
  roomFor(key: string, id: string, slot: number): number {
    const isFirst = (this.#others.get(key)?.size ?? 0) === 0
    const own = this.#rooms.get(key)!.roomFor(isFirst ? this.#counting.get(id) : undefined, slot)
    // Another child of the family may go before it, whose job counts more.
    return this.#roomsAbove(key).reduce(
      (at, room) => (at < NEVER ? room.roomFor(this.#costliest, at) : at),
      own,
    )
  }

  #roomsAbove(key: string): SetRoom[] {
    return totalsAbove(this.#known.plan, key).map((total) => this.#rooms.get(total)!)
  }

  /** What the quotas of the key may count, as far as that is known. */
  bounds(key: string, at: number): ReturnType<SetRoom['bounds']> {
    return this.#rooms.get(key)!.bounds(at)
  }

  see(event: HistoryEvent): void {
    if (event.type === 'limit') this.#rooms.get(event.key)?.replaceLimit(event.limit, event.at)
    if (!('id' in event)) return
    const { id, at } = event
    if (event.type === 'answer' && event.accepted) {
      this.#counting.set(id, event)
      this.#keyOf.set(id, event.key)
    }
    const key = this.#keyOf.get(id)
    if (key === undefined || !this.#rooms.has(key)) return
    const rooms = [this.#rooms.get(key)!, ...this.#roomsAbove(key)]
    const others = this.#others.get(key) ?? new Set()
    this.#others.set(key, others)
    switch (event.type) {
      case 'answer':
        if (event.accepted && (isTurnId(id) || this.#impatient.has(id))) others.add(id)
        break
      case 'start':
        others.delete(id)
        for (const room of rooms) room.start(event, this.#counting.get(id) ?? event, this.#countedAt(event))
        break
      case 'return':
        // Retries and jobs of the line go in turns.
        others.add(id)
        for (const room of rooms) room.free(id, at)
        break
      case 'end':
        others.delete(id)
        // A turn that holds a place ends as it starts.
        if (!isTurnId(id)) for (const room of rooms) room.free(id, at)
        break
      case 'release':
      case 'fault':
        for (const room of rooms) room.free(id, at)
        break
    }
  }

  /** A start that a dead worker was granted counts, whether it happened or not. */
  #recover(id: string, key: string, at: number): void {
    const own = this.#rooms.get(key)
    const counting = this.#counting.get(id)
    for (const room of [...(own === undefined ? [] : [own]), ...this.#roomsAbove(key)]) {
      room.free(id, at)
      if (counting !== undefined) room.doubt(counting, at)
    }
  }

  #countedAt(event: HistoryEvent & { type: 'start' }): number {
    const by = this.#by.get(event)
    const still = this.#known.silences.filter(({ process, from, until, cause }) => {
      return process === by && cause === 'itself' && from <= event.at + COUNTS && until > event.at
    })
    return Math.max(event.at, ...still.map(({ until }) => until))
  }
}

function costliestOf({ keys, totals = [], jobs, turns, actions }: Plan): Counting {
  const limits = [...keys, ...totals, ...actions.flatMap((action) => (action.do === 'limit' ? [action] : []))]
  const items = [...jobs, ...turns]
  const counted = items.flatMap(({ costs = {} }) => Object.values(costs))
  const each = limits.flatMap(({ quotas = [] }) => quotas.flatMap(({ each = 0 }) => each))
  const cost = Math.max(1, ...items.map((item) => item.cost))
  return { cost, costs: { [UNIT]: Math.max(1, ...counted, ...each) } }
}
