import { EventQueue, type QueuedEvent } from './event-queue.ts'
import { SimProcess } from './process.ts'
import type { Random } from './random.ts'
import { stepThrough } from './settle.ts'

/** The phases of a turn of an event loop, in their order. */
export const PHASES = { timers: 0, io: 1, checks: 2 } as const
export type Phase = (typeof PHASES)[keyof typeof PHASES]

/** Something that happens in a process. */
export interface WorldEvent extends QueuedEvent {
  readonly process: SimProcess
  readonly phase: Phase
  /** Absent: the process, which was busy, goes on with what has waited. */
  readonly run: (() => void) | undefined
}

/** The world whose event is being run, for what replaces the clocks and timers of Node; at most one at a time. */
let running: World | undefined

/** The process whose code runs now; undefined: none of a world, so the real clocks and timers apply. */
export function currentProcess(): SimProcess | undefined {
  return running?.current
}

export class WorldTimeError extends Error {}

/**
 * Virtual time: one queue of events, run one after the other. Times are microseconds since the world began. What an event
 * causes without waiting (promises, ticks) is over before the next event, so one variable says which process runs.
 */
export class World {
  readonly random: Random
  /** Draws the order of events of the same time. */
  readonly #ties: Random
  readonly #queue = new EventQueue<WorldEvent>()
  readonly #names = new Map<string, number>()
  readonly processes: SimProcess[] = []
  current: SimProcess | undefined
  now = 0
  events = 0
  #isOver = false

  constructor(random: Random) {
    this.random = random
    this.#ties = random.fork('ties')
  }

  /** Adds a process; its name is made unique. */
  spawn(name: string): SimProcess {
    const count = (this.#names.get(name) ?? 0) + 1
    this.#names.set(name, count)
    const process = new SimProcess(this, count === 1 ? name : `${name}#${count}`)
    this.processes.push(process)
    return process
  }

  /** The time as the code that runs now sees it. */
  get present(): number {
    return this.current?.inner ?? this.now
  }

  schedule(process: SimProcess, at: number, phase: Phase, run: (() => void) | undefined): WorldEvent {
    const event = {
      at: Math.max(at, this.now),
      tie: this.#ties.uint32(),
      order: 0,
      isCancelled: false,
      process,
      phase,
      run,
    }
    this.#queue.push(event)
    return event
  }

  /** Ends the run: nothing more happens. */
  end(): void {
    this.#isOver = true
  }

  /** Runs until `end` is called. @throws WorldTimeError when `until`, or so many events, are over before that */
  async run(until: number, mostEvents: number): Promise<void> {
    if (running !== undefined) throw new Error('expected one world at a time')
    running = this
    const onRejection = (reason: unknown) => this.current?.onUncaught(reason)
    process.on('unhandledRejection', onRejection)
    process.on('uncaughtException', onRejection)
    try {
      await stepThrough(() => this.#step(until, mostEvents))
    } finally {
      this.current = undefined
      running = undefined
      this.#queue.clear()
      process.off('unhandledRejection', onRejection)
      process.off('uncaughtException', onRejection)
    }
  }

  #step(until: number, mostEvents: number): boolean {
    this.current?.leave()
    this.current = undefined
    if (this.#isOver) return false
    const event = this.#queue.pop()
    if (event === undefined) throw new WorldTimeError(`nothing can happen any more at ${this.now} us`)
    if (event.at > until) throw new WorldTimeError(`not over at ${until} us`)
    if (++this.events > mostEvents) throw new WorldTimeError(`not over after ${mostEvents} events`)
    this.now = event.at
    const { process } = event
    if (process.isAlive) process.take(event)
    return true
  }
}
