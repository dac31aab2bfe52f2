import type { Costs } from '../../../../src/index.ts'
import type { Loss } from '../history-file.ts'

/**
 * What the processes of a run saw, each with the host's clock and nothing else: when a call was made and when it was answered, what
 * a handler read in its first statement, when an end was heard of. All times are microseconds of one clock.
 */
export interface Testimony {
  /** By key. */
  readonly limits: ReadonlyMap<string, Bounds>
  /** By how the keys of the family begin, such as `f/`; the key without the slash is one of them. */
  readonly totals?: ReadonlyMap<string, Bounds>
  readonly calls: readonly Call[]
  readonly starts: readonly Start[]
  readonly returns: readonly Return[]
  readonly ends: readonly End[]
  /** What handlers said that their starts really took. */
  readonly settles?: readonly SettleSeen[]
  /** Jobs that ran in a process that failed: what that process had started may start once more. */
  readonly faults: readonly FaultSeen[]
  /** Moments between which a process may have held the first `handed` jobs of each line and not started them. */
  readonly crashes: readonly { readonly at: number; readonly handed: number }[]
  /** For so long after a start the line may count the job as waiting, where nothing keeps the news of it; microseconds. */
  readonly lag: number
  /** When the clock of the store was moved. */
  readonly moves: readonly number[]
  /** When the line forgot what it had decided. */
  readonly losses: readonly Loss[]
  /** It ends before the run did: jobs may still wait or run. */
  readonly isUnfinished?: boolean
}

export interface Bounds {
  readonly capacity: number
  /** Microseconds between two departures of cost 1, and by how much two may be closer. */
  readonly interval: number
  readonly tolerance: number
  /** What may start in a window; absent: whatever the pace lets start. */
  readonly quotas?: readonly QuotaBound[]
  /** Handlers that may run at once; absent: all. */
  readonly concurrency?: number
}

export interface QuotaBound {
  readonly amount: number
  /** Absent: cost units. */
  readonly unit?: string | undefined
  /** What a job counts that does not name the unit. */
  readonly each?: number | undefined
  /** Microseconds; a window without a length is not judged here. */
  readonly window: { readonly length: number } | object
}

/** One question of a handler, from its call to its answer; without one it may have counted or not. */
export interface SettleSeen {
  readonly id: string
  readonly fence: number
  readonly from: number
  readonly to: number
  readonly amounts: Costs
  readonly answer: boolean | 'unknown'
}

/** One question, from its call to its answer. Without an answer it may have been decided at any time after the call, or never. */
export interface Call {
  readonly do: 'admit' | 'cancel'
  readonly key: string
  readonly id: string
  readonly cost: number
  readonly costs?: Costs | undefined
  readonly from: number
  readonly to: number
  /** Of an admission `accepted` or the reason of the refusal, `full at f/` where a total had no room; of a cancellation `true` or `false`; else `unknown`. */
  readonly answer: string
  /** The order of the questions that were asked in one call. */
  readonly place: number
  /** After that long in line the job expires; microseconds. */
  readonly deadline?: number | undefined
  /** A digest of what the job carries. */
  readonly data?: string | undefined
}

export interface FaultSeen {
  readonly at: number
  readonly id: string
  /** The process that failed. */
  readonly process: string
}

export interface Start {
  readonly at: number
  /** The process whose handler read the time. */
  readonly process: string
  readonly key: string
  readonly id: string
  readonly cost: number
  readonly attempt: number
  readonly costs?: Costs | undefined
  /** When it may have lost its place, at the earliest; absent: never. */
  readonly until?: number | undefined
  /** When the line must have heard of it; absent: after the `lag`. */
  readonly heardBy?: number | undefined
  readonly fence?: number | undefined
  /** A digest of what the handler got. */
  readonly data?: string | undefined
  /** Its signal was aborted in its first statement, because its slot had passed: it made no call. */
  readonly missedSlot?: boolean
}

/** A job went back into its line after a start; when, only the line knows: before it was heard of. */
export interface Return {
  readonly seenAt: number
  readonly id: string
  readonly isFreeze: boolean
}

export interface End {
  readonly seenAt: number
  readonly id: string
  readonly outcome: 'completed' | 'failed' | 'cancelled' | 'expired'
}

/** Something that no order of events explains, as a sentence with its numbers. */
export interface Finding {
  readonly kind:
    | 'too early'
    | 'out of order'
    | 'no order fits'
    | 'lost'
    | 'never started'
    | 'ended twice'
    | 'ran after its end'
    | 'never asked for'
    | 'ran though refused'
    | 'started too often'
    | 'cancelled and not'
    | 'fence not greater'
    | 'other data'
    | 'refused in time'
    | 'over a quota'
    | 'too many at once'
    | 'settled wrongly'
    | 'too many wait'
    | 'refused with room'
  readonly at: number
  readonly key?: string | undefined
  readonly id?: string | undefined
  readonly message: string
}

export const ms = (us: number) => `${(us / 1_000).toFixed(3)} ms`
