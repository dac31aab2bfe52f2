import type { Server, ServerConnection } from './network.ts'
import type { SimProcess } from './process.ts'
import { EPOCH } from './process.ts'
import { PHASES, type World, type WorldEvent } from './world.ts'

/** What the store needs of the world. */
export interface StoreHost {
  /** Microseconds since the epoch; it may be set, and so go back. */
  nowUs(): number
  /** Lets the moment pass that a command takes: of two that arrive together, one is later. */
  readonly spend: () => void
  /** Calls `run` once when the clock says `atUs` or more; returns a function that cancels it. */
  wake(atUs: number, run: () => void): () => void
  random(): number
}

/** The store in the server: its data, and what it does with commands. */
export interface Store<Snapshot = unknown> {
  connect(): ServerConnection
  snapshot(): Snapshot
  restart(from: Snapshot | 'empty' | 'same'): void
}

interface Wake {
  readonly atUs: number
  readonly run: () => void
  event: WorldEvent | undefined
}

/** From one setting of the server's clock to the next. */
interface Setting {
  readonly from: number
  readonly offset: number
  /** What the clock said to the store meanwhile. */
  readonly said: Set<number>
}

/**
 * The machine on which the store runs: its clock, and whether it runs at all. Its clock may be set, but neither gains nor
 * loses: what the laws promise is measured by it.
 */
export class SimServer<Snapshot> implements Server {
  readonly process: SimProcess
  readonly store: Store<Snapshot>
  readonly #settings: Setting[] = []
  readonly #wakes = new Set<Wake>()
  #isUp = true

  constructor(world: World, open: (host: StoreHost) => Store<Snapshot>) {
    this.process = world.spawn('redis')
    this.#settings.push({ from: 0, offset: EPOCH, said: new Set() })
    this.store = open({
      nowUs: () => this.#say(),
      spend: () => this.process.spend(),
      wake: (atUs, run) => this.#wake(atUs, run),
      random: () => this.process.random.next(),
    })
  }

  get isUp(): boolean {
    return this.#isUp
  }

  accept(): ServerConnection | undefined {
    return this.#isUp ? this.store.connect() : undefined
  }

  // Its clock

  /** What its clock says at a time of the world. */
  timeAt(at: number): number {
    return at + this.#settingAt(at).offset
  }

  #settingAt(at: number): Setting {
    return this.#settings.findLast(({ from }) => from <= at) ?? this.#settings[0]!
  }

  #say(): number {
    const at = this.process.read()
    const { offset, said } = this.#settingAt(at)
    const time = Math.floor(at + offset)
    said.add(time)
    return time
  }

  /**
   * The time of the world at which its clock said so: the last one, at `noLaterThan` or before. A clock that was set back comes to
   * some times twice, and said most of them to the store once. What processes estimate may be ahead of its clock, or not know yet
   * that it was set: then the time that fits best.
   */
  worldTime(said: number, noLaterThan = Number.POSITIVE_INFINITY): number {
    let best = noLaterThan
    let least = Number.POSITIVE_INFINITY
    let isFound = false
    for (let index = this.#settings.length - 1; index >= 0; index--) {
      const setting = this.#settings[index]!
      const at = said - setting.offset
      const until = this.#settings[index + 1]?.from ?? Number.POSITIVE_INFINITY
      const outside = Math.max(setting.from - at, at - until, at - noLaterThan)
      // Its clock counts whole microseconds.
      if (outside <= 2) {
        if (setting.said.has(Math.round(said))) return at
        if (isFound) continue
        isFound = true
      } else if (outside >= least) continue
      least = outside
      best = at
    }
    return Math.min(noLaterThan, best)
  }

  /** Sets its clock forward, or back; microseconds. */
  step(by: number): void {
    const from = this.process.world.now
    this.#settings.push({ from, offset: this.#settings.at(-1)!.offset + by, said: new Set() })
    for (const wake of this.#wakes) {
      if (wake.event !== undefined) wake.event.isCancelled = true
      this.#plan(wake)
    }
  }

  #wake(atUs: number, run: () => void): () => void {
    const wake: Wake = { atUs, run, event: undefined }
    this.#wakes.add(wake)
    this.#plan(wake)
    return () => {
      this.#wakes.delete(wake)
      if (wake.event !== undefined) wake.event.isCancelled = true
    }
  }

  #plan(wake: Wake): void {
    const { world } = this.process
    const left = Math.max(0, wake.atUs - this.timeAt(world.present))
    const at = world.present + left + 1
    wake.event = this.process.at(at, PHASES.timers, () => {
      if (this.timeAt(world.present) < wake.atUs) {
        this.#plan(wake)
        return
      }
      this.#wakes.delete(wake)
      wake.run()
    })
  }

  // Its life

  /** It dies, and its connections with it. */
  crash(): void {
    this.#isUp = false
  }

  /** It starts with what it has kept. */
  start(from: Snapshot | 'empty' | 'same'): void {
    this.#isUp = true
    this.store.restart(from)
  }
}
