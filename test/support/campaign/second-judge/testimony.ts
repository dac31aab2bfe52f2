/**
 * What the processes of a run saw, each with the host's clock and nothing else: when a call was made and when it was answered, what
 * a handler read in its first statement, when an end was heard of. All times are microseconds of one clock.
 */
export interface Testimony {
  /** By key. */
  readonly limits: ReadonlyMap<string, Bounds>
  readonly calls: readonly Call[]
  readonly starts: readonly Start[]
  readonly returns: readonly Return[]
  readonly ends: readonly End[]
  /** Jobs that ran in a process that failed: each may start once more. */
  readonly faults: readonly { readonly at: number; readonly id: string }[]
  /** Moments between which a process may have held the first `handed` jobs of each line and not started them. */
  readonly crashes: readonly { readonly at: number; readonly handed: number }[]
  /** For so long after a start the line may count the job as waiting; microseconds. */
  readonly lag: number
  /** What the line decided may be lost: then only the spacing is judged, and that no handler ran a job that was never requested. */
  readonly isLossy: boolean
}

export interface Bounds {
  readonly capacity: number
  /** Microseconds between two departures of cost 1, and by how much two may be closer. */
  readonly interval: number
  readonly tolerance: number
}

/** One question, from its call to its answer. Without an answer it may have been decided at any time after the call, or never. */
export interface Call {
  readonly do: 'admit' | 'cancel'
  readonly key: string
  readonly id: string
  readonly cost: number
  readonly from: number
  readonly to: number
  /** Of an admission `accepted` or the reason of the refusal; of a cancellation `true` or `false`; else `unknown`. */
  readonly answer: string
  /** The order of the questions that were asked in one call. */
  readonly place: number
  /** After that long in line the job expires; microseconds. */
  readonly deadline?: number | undefined
}

export interface Start {
  readonly at: number
  readonly key: string
  readonly id: string
  readonly cost: number
  readonly attempt: number
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
  readonly at: number
  readonly key?: string | undefined
  readonly id?: string | undefined
  readonly message: string
}

export const ms = (us: number) => `${(us / 1_000).toFixed(3)} ms`
