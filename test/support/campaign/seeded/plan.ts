import type { Weather } from '../../tcp-proxy.ts'
import type { PointPlan, ProducerPlan, WorkerPlan } from '../plans.ts'

/** Which Redis a run has, and what it loses when it is killed. */
export type StorePlan =
  /** `loadMs`: each thousand commands of its file take so long to load. */
  | { readonly kind: 'single'; readonly fsync: 'always' | 'everysec' | 'none'; readonly loadMs?: number }
  /**
   * The replica stands still for `behindMs` before it is promoted, and its clock is off by `skewMs`. `readOnlyMs`: so long all
   * are led to it before it is promoted.
   */
  | {
      readonly kind: 'replicated'
      readonly behindMs: number
      readonly skewMs: number
      readonly readOnlyMs?: number
    }
  | { readonly kind: 'cluster'; readonly shards: number }

export type Role = 'producer' | 'worker'

/** How a process may end by itself: an exception that nothing catches, a full heap, a fault of memory. */
export type Crash = 'exception' | 'heap' | 'SIGSEGV'

/** Something that a run does to its processes, its network or its Redis, `atMs` after it began. */
export type Fault = { readonly atMs: number } & (
  | { readonly do: 'kill'; readonly role: Role; readonly nth: number; readonly replace: boolean }
  | { readonly do: 'crash'; readonly role: Role; readonly nth: number; readonly how: Crash }
  | { readonly do: 'stop'; readonly role: Role; readonly nth: number; readonly forMs: number }
  | {
      readonly do: 'weather'
      readonly role: Role
      readonly nth: number
      readonly forMs: number
      readonly weather: Weather
    }
  | {
      readonly do: 'lose replies'
      readonly role: Role
      readonly nth: number
      readonly match?: string
      readonly arriving: number
      readonly times: number
    }
  | { readonly do: 'reset'; readonly role: Role; readonly nth: number }
  | { readonly do: 'kill redis'; readonly awayMs: number }
  /** It dies, too, and its file lacks what came in the last so many milliseconds, and so many bytes before. */
  | {
      readonly do: 'lose writes'
      readonly lastMs: number
      readonly bytes: number
      readonly awayMs: number
    }
  | { readonly do: 'stop redis'; readonly forMs: number }
  | { readonly do: 'flush scripts'; readonly forMs: number }
  | { readonly do: 'fill memory'; readonly forMs: number }
  /** It refuses writes, because too few replicas are connected. */
  | { readonly do: 'lack replicas'; readonly forMs: number }
  | { readonly do: 'fail disk'; readonly forMs: number; readonly error: 'EIO' | 'ENOSPC' }
  | { readonly do: 'move clock'; readonly byMs: number }
  | { readonly do: 'fail over' }
  | { readonly do: 'reshard'; readonly shard: number; readonly step: number; readonly pauseMs: number }
)

/** A worker that ends or stops itself at a point of its code; one that stops goes on after so long. */
export interface Armed {
  readonly role: Role
  readonly nth: number
  readonly point: PointPlan
  readonly forMs: number
}

/** All that a seed decides. What the processes make of it depends on the machine as well. */
export interface SeededPlan {
  readonly seed: number
  /** What the run is about, in a word or two. */
  readonly subject: string
  readonly store: StorePlan
  readonly limit: string
  readonly limits: Readonly<Record<string, string>>
  readonly keys: readonly string[]
  readonly producers: readonly ProducerPlan[]
  readonly workers: readonly WorkerPlan[]
  readonly armed: readonly Armed[]
  readonly faults: readonly Fault[]
}
