import { type Channel, channel, subscribe, unsubscribe } from 'node:diagnostics_channel'

/**
 * Internal events as channels of `node:diagnostics_channel`. All code in the process may subscribe by name, such as
 * `velvet-rope:departure`. Without subscribers a channel costs one check of a flag, and no message is created. Times
 * and durations are microseconds; `shaper` is its name, since a process may have several. Subscribers are called
 * synchronously: they must be quick, and an error that they throw ends the process, as usual in Node.
 */

/** A handler was started. Times are of the line's clock. */
export interface Departure {
  readonly shaper: string
  readonly key: string
  /** Of the rule that governs the bucket. */
  readonly pattern: string
  readonly id: string
  /** 1 is the first. */
  readonly attempt: number
  readonly admittedAt: number
  /** When it was due, and when its handler started: at the slot or later. */
  readonly slot: number
  readonly startedAt: number
  /** When the previous handler of the bucket started; -Infinity if none is known. */
  readonly lastStart: number
  /**
   * The shortest distance allowed from that start, without the tolerance: interval x cost of the previous job, longer
   * while the bucket warms up.
   */
  readonly spacing: number
}

/** A handler settled, timed out or was aborted. */
export interface HandlerEnd {
  readonly shaper: string
  readonly key: string
  readonly id: string
  readonly attempt: number
  readonly outcome: 'completed' | 'failed' | 'timeout' | 'frozen' | 'aborted'
  readonly duration: number
}

/** A start was later than its slot by more than the limit's tolerance: the slot was moved or lost. */
export interface LateStart {
  readonly shaper: string
  readonly key: string
  readonly id: string
}

/** A Redis script replied, or failed: then with the kind of its error. */
export interface ScriptRun {
  readonly shaper: string
  readonly verb: string
  readonly duration: number
  readonly error?: RedisErrorKind
}

/**
 * | kind       | meaning                                                             |
 * |------------|---------------------------------------------------------------------|
 * | timeout    | no reply in time; whether the command ran is unknown                |
 * | connection | not connected, or the connection was lost                           |
 * | refused    | Redis replied that it cannot: memory full, read-only, loading, ...  |
 * | foreign    | a key of ours holds a value that we did not write                   |
 * | other      | anything else                                                       |
 */
export type RedisErrorKind = 'timeout' | 'connection' | 'refused' | 'foreign' | 'other'

/** A call to Redis failed, or its connection was lost: reported once per outage. */
export interface RedisError {
  readonly shaper: string
  readonly kind: RedisErrorKind
}

/** Jobs were handed over to workers, or could not be. */
export interface Handoff {
  readonly shaper: string
  readonly shard: number
  readonly jobs: number
  readonly outcome: 'added' | 'error'
}

/** A scheduler pass ended. In memory its duration includes the synchronous part of the handlers that it started. */
export interface SchedulerPass {
  readonly shaper: string
  readonly shard: number
  readonly duration: number
  readonly handed: number
  readonly recovered: number
  readonly expired: number
}

/**
 * Whether a process is the elected scheduler of a shard; reported with every pass, so that late subscribers learn it
 * too.
 */
export interface Leadership {
  readonly shaper: string
  readonly shard: number
  readonly isLeader: boolean
}

/** A meter was filled, or refused to be. `meter` is its name; a shaper of the same process may have the same name. */
export interface MeterFilling {
  readonly meter: string
  readonly key: string
  /** Of the rule that governs the bucket. */
  readonly pattern: string
  /** Units; may be a fraction. */
  readonly amount: number
  /** What it names in other units; absent or undefined where it names none. */
  readonly costs?: Readonly<Record<string, number>> | undefined
  readonly outcome: FillOutcome
}

/**
 * | outcome    | meaning                                                     |
 * |------------|-------------------------------------------------------------|
 * | accepted   | the whole amount went in                                    |
 * | full       | there was no room for the whole amount                      |
 * | quota      | a quota of the limit had no room for it                     |
 * | blocked    | the key is blocked for a while, after a fill that was refused |
 * | never-fits | the amount exceeds the capacity, or a whole quota           |
 */
export type FillOutcome = 'accepted' | 'full' | 'quota' | 'blocked' | 'never-fits'

/** One typed channel. */
class Diagnostics<Message> {
  readonly #channel: Channel

  constructor(name: string) {
    this.#channel = channel(`velvet-rope:${name}`)
  }

  /** Whether anything subscribes: create a message only then. */
  get hasSubscribers(): boolean {
    return this.#channel.hasSubscribers
  }

  publish(message: Message): void {
    this.#channel.publish(message)
  }

  /** Calls `listener` with every message. Returns a function that unsubscribes it. */
  subscribe(listener: (message: Message) => void): () => void {
    const onMessage = (message: unknown) => listener(message as Message)
    const { name } = this.#channel
    subscribe(name, onMessage)
    return () => void unsubscribe(name, onMessage)
  }
}

export type { Diagnostics }

export const departures = new Diagnostics<Departure>('departure')
export const handlerEnds = new Diagnostics<HandlerEnd>('handler')
export const lateStarts = new Diagnostics<LateStart>('late-start')
export const scriptRuns = new Diagnostics<ScriptRun>('script')
export const redisErrors = new Diagnostics<RedisError>('redis-error')
export const handoffs = new Diagnostics<Handoff>('handoff')
export const schedulerPasses = new Diagnostics<SchedulerPass>('pass')
export const leaderships = new Diagnostics<Leadership>('leader')
export const meterFillings = new Diagnostics<MeterFilling>('fill')
