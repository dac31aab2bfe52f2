import type { Delays } from '../world/link.ts'

/**
 * When a fault strikes: at a time; or at the n-th event or write of a process after it began, and at the latest at a
 * time. Milliseconds.
 */
export interface When {
  readonly at: number
  /** The latest time, where it is to strike at an event or a write; absent: after a while. */
  readonly by?: number
  readonly event?: number
  readonly write?: number
}

/** The name of a process in the plan, or `all`. After a restart it means the process that took its place. */
export type Part = string

/** How long a fault waits for the event or the write that it is to strike at; milliseconds. */
const PATIENCE = 3_000

/** It has struck by then; milliseconds. */
export function strikesBy({ at, by, event, write }: When): number {
  return event === undefined && write === undefined ? at : (by ?? at + PATIENCE)
}

interface Timed {
  /** The world is whole again then; milliseconds. */
  readonly until: number
}

export type Fault = Timed &
  (
    | {
        readonly kind: 'kill'
        readonly part: Part
        readonly when: When
        /** With `machine`, its connections stay open: no packet says that it is gone. */
        readonly how: 'process' | 'machine'
        /** Another takes its part after that; absent: none does. */
        readonly back?: number
      }
    | { readonly kind: 'stop' | 'block'; readonly part: Part; readonly when: When; readonly for: number }
    | {
        readonly kind: 'close'
        readonly part: Part
        readonly at: number
        readonly drain?: number
        readonly back: number
      }
    /** The worker of a process closes, which lives on; another begins in it after that, whether the first has closed or not. */
    | { readonly kind: 'rest'; readonly part: Part; readonly at: number; readonly for: number }
    | {
        /** Nothing arrives, in one direction or both; also what the process is writing when it begins. */
        readonly kind: 'hold'
        readonly part: Part
        readonly when: When
        readonly for: number
        readonly direction: 'there' | 'back' | 'both'
      }
    /** Connections break: all, or those of the process, at once or just after a write. */
    | { readonly kind: 'reset'; readonly part: Part; readonly when: When; readonly after: number }
    | { readonly kind: 'refuse'; readonly part: Part; readonly at: number; readonly for: number }
    | {
        readonly kind: 'slow'
        readonly part: Part
        readonly at: number
        readonly for: number
        readonly there: Delays
        readonly back: Delays
      }
    /** The server stands still. */
    | { readonly kind: 'stall'; readonly at: number; readonly for: number }
    | {
        readonly kind: 'restart'
        readonly at: number
        readonly down: number
        /** It comes back with all it had, with what it had so long before it went, or with nothing. */
        readonly keeps: Keeps
      }
    /** The server answers, and refuses: what writes, or, while it loads its data, nearly everything. */
    | { readonly kind: 'refusal'; readonly at: number; readonly for: number; readonly says: Refusal }
    /** The clock of the server is set. */
    | { readonly kind: 'step'; readonly at: number; readonly by: number }
    /** The wall clock of a process is set. */
    | { readonly kind: 'wall'; readonly part: Part; readonly at: number; readonly by: number }
    | { readonly kind: 'flush-scripts'; readonly at: number }
  )

/** Whether it can keep a process from hearing, or from writing down, what the store has decided. */
export function isTelling({ kind }: Fault): boolean {
  return kind !== 'stop' && kind !== 'block' && kind !== 'wall' && kind !== 'flush-scripts' && kind !== 'slow'
}

/** What the server says while it refuses: as a replica, as a master without replicas, or after a start. */
export type Refusal = 'READONLY' | 'NOREPLICAS' | 'LOADING'

/** What the server has when it starts again. */
export type Keeps = 'all' | 'nothing' | { readonly butLast: number }

/** Whether the store may have forgotten what it had said. */
export function isLossy(fault: Fault): boolean {
  return fault.kind === 'restart' && fault.keeps !== 'all'
}
