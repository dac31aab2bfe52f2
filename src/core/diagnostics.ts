import { type Channel, channel, subscribe, unsubscribe } from 'node:diagnostics_channel'

/**
 * What goes on inside, for those who watch: channels of `node:diagnostics_channel`, so that anybody in the process may
 * subscribe by name, such as `velvet-rope:departure`. While nobody does, a channel costs one look at a flag, and no
 * message is made. Times and durations are microseconds; `shaper` is its name, since a process may have several.
 * Subscribers are called in the middle of the work: they must be quick, and what they throw ends the process, as Node
 * has it.
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
  /** When it was due, and when its handler started: at the slot or after it. */
  readonly slot: number
  readonly startedAt: number
  /** When the handler before it in the bucket started; -Infinity when none is remembered. */
  readonly lastStart: number
  /**
   * How far the start may follow that one at the earliest, but for the tolerance: interval x cost of the one before,
   * and longer while the bucket warms up.
   */
  readonly spacing: number
}

/** A handler settled, or was given up. */
export interface HandlerEnd {
  readonly shaper: string
  readonly key: string
  readonly id: string
  readonly attempt: number
  readonly outcome: 'completed' | 'failed' | 'timeout' | 'frozen' | 'aborted'
  readonly duration: number
}

/** A slot came when no handler could be started, by more than the limit tolerates: it was moved or lost. */
export interface LateStart {
  readonly shaper: string
  readonly key: string
  readonly id: string
}

/** A script of Redis was answered, or failed: then with the kind of its error. */
export interface ScriptRun {
  readonly shaper: string
  readonly verb: string
  readonly duration: number
  readonly error?: RedisErrorKind
}

/**
 * | kind       | meaning                                                             |
 * |------------|---------------------------------------------------------------------|
 * | timeout    | no answer in time; whether it was done is not known                 |
 * | connection | not connected, or the connection was lost                           |
 * | refused    | Redis answered that it cannot: memory full, read-only, loading, ... |
 * | foreign    | something under our names that is not ours                          |
 * | other      | anything else                                                       |
 */
export type RedisErrorKind = 'timeout' | 'connection' | 'refused' | 'foreign' | 'other'

/** A call of Redis failed, or its connection did: then once for each outage. */
export interface RedisError {
  readonly shaper: string
  readonly kind: RedisErrorKind
}

/** Jobs were handed over to workers, or could not be. */
export interface HandingOver {
  readonly shaper: string
  readonly shard: number
  readonly jobs: number
  readonly outcome: 'added' | 'error'
}

/** A scheduler looked for what is due. In memory its duration holds what handlers do before they first wait. */
export interface SchedulerPass {
  readonly shaper: string
  readonly shard: number
  readonly duration: number
  readonly handed: number
  readonly recovered: number
  readonly expired: number
}

/** A scheduler was elected, or is not any more; told with every pass, so that whoever subscribes late learns it. */
export interface Leadership {
  readonly shaper: string
  readonly shard: number
  readonly isLeader: boolean
}

/** Somebody filled a meter, or wanted to. Its name is not a shaper's, though a process may give both the same. */
export interface MeterFilling {
  readonly meter: string
  readonly key: string
  /** Of the rule that governs the bucket. */
  readonly pattern: string
  /** Units, a fraction perhaps. */
  readonly amount: number
  readonly outcome: FillOutcome
}

/**
 * | outcome    | meaning                                                       |
 * |------------|---------------------------------------------------------------|
 * | accepted   | all of the amount went in                                     |
 * | full       | there was no room for all of it                               |
 * | blocked    | the key is barred for a while, since there was no room before |
 * | never-fits | the amount is more than the capacity                          |
 */
export type FillOutcome = 'accepted' | 'full' | 'blocked' | 'never-fits'

/** One channel, typed. */
class Diagnostics<Message> {
  readonly #channel: Channel

  constructor(name: string) {
    this.#channel = channel(`velvet-rope:${name}`)
  }

  /** Whether it is worth making a message. */
  get hasSubscribers(): boolean {
    return this.#channel.hasSubscribers
  }

  publish(message: Message): void {
    this.#channel.publish(message)
  }

  /** Calling the answer ends it. */
  subscribe(listener: (message: Message) => void): () => void {
    const heard = (message: unknown) => listener(message as Message)
    const { name } = this.#channel
    subscribe(name, heard)
    return () => void unsubscribe(name, heard)
  }
}

export type { Diagnostics }

export const departures = new Diagnostics<Departure>('departure')
export const handlerEnds = new Diagnostics<HandlerEnd>('handler')
export const lateStarts = new Diagnostics<LateStart>('late-start')
export const scriptRuns = new Diagnostics<ScriptRun>('script')
export const redisErrors = new Diagnostics<RedisError>('redis-error')
export const handingsOver = new Diagnostics<HandingOver>('handoff')
export const schedulerPasses = new Diagnostics<SchedulerPass>('pass')
export const leaderships = new Diagnostics<Leadership>('leader')
export const meterFillings = new Diagnostics<MeterFilling>('fill')
