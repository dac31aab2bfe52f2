import type { Delays } from '../world/link.ts'
import type { Clocks } from '../world/process.ts'
import type { Fault } from './fault.ts'
import type { CountedPlan, HoldPlan, SetPlan, SettlePlan } from './set-plan.ts'

/** All that a run is made of, drawn from its seed. It is data, so that a failing one can be made smaller. Milliseconds. */
export interface Plan {
  readonly seed: number
  readonly shards: number
  readonly keys: readonly KeyPlan[]
  /** The limits of families of keys, by their paths, which end in `/`. Absent: there are none. */
  readonly totals?: readonly TotalPlan[]
  readonly jobs: readonly JobPlan[]
  readonly turns: readonly TurnPlan[]
  readonly actions: readonly Action[]
  readonly workers: readonly WorkerPlan[]
  readonly producers: number
  readonly callers: number
  /** The first worker is also the first producer and the first caller, with one shaper, as a program of one process is. */
  readonly isTogether?: true
  /** Processes that only schedule. */
  readonly schedulers: number
  /** Drawn by the name of the process. */
  readonly clocks: Readonly<Record<string, Clocks>>
  /** By how much the clock of Redis is ahead of the world's at first. Default: 0. */
  readonly ahead?: number
  readonly network: { readonly there: Delays; readonly back: Delays; readonly splits: number }
  /** How many ended jobs the store remembers. */
  readonly keepFinished: number
  /** The server has all scripts, as one that is in use; absent: each is sent to it, and then called. */
  readonly hasScripts?: boolean
  /** Views that change nothing are asked for again and again. */
  readonly views: boolean
  /** When the operator asks of each job that waits how long it does at most. Absent: never. */
  readonly asks?: readonly number[]
  readonly faults: readonly Fault[]
}

export interface KeyPlan extends SetPlan {
  readonly key: string
  readonly capacity: number
  readonly rate: { readonly count: number; readonly per: number }
  /** Absent: the default of the product. */
  readonly tolerance?: number
  /** After a rest it begins with another rate, and reaches its own after so long. */
  readonly warmUp?: { readonly lasts: number; readonly from: KeyPlan['rate'] }
  /** Its share of the total above it; absent: 1. */
  readonly weight?: number
}

export interface TotalPlan extends KeyPlan {
  /** An action sets it while its family is at work; absent: it is in force from the start. */
  readonly comesLate?: true
}

export interface JobPlan extends CountedPlan {
  readonly id: string
  readonly key: string
  /** The number of the producer, from 1. */
  readonly producer: number
  readonly at: number
  readonly bytes: number
  /** Jobs of a producer with the same number are enqueued in one call. */
  readonly batch?: number
  readonly deadline?: number
  readonly attempts: number
  readonly backoff: number
  readonly timeout?: number
  /** How often a producer that was refused for want of room comes back. */
  readonly comesBack: number
  /** Its producer asks once: an error is the end of it. */
  readonly givesUp?: boolean
  readonly handler: HandlerPlan
}

export interface HandlerPlan {
  readonly takes: number
  /** Of that, how long it computes before it first waits. */
  readonly computes: number
  /** So many attempts fail. */
  readonly fails: number
  /** Its first start freezes the bucket for so long. */
  readonly freezes?: number
  /** So many starts end their process at once, as an error that nothing catches does. */
  readonly exits?: number
  /** Its first start never settles. */
  readonly hangs: boolean
  /** Each of its attempts says what it used. */
  readonly settles?: SettlePlan
}

export interface TurnPlan extends CountedPlan {
  readonly caller: number
  readonly key: string
  readonly at: number
  readonly timeout?: number
  /** The caller gives up after that. */
  readonly aborts?: number
  /** Now or not at all. */
  readonly isTry: boolean
  /** Absent: it gives back at once what it holds. */
  readonly holds?: HoldPlan
  readonly settles?: SettlePlan
}

export interface WorkerPlan {
  readonly at: number
  readonly concurrency: number
  readonly lease: number
  readonly scheduler: boolean
}

/** What the operator does, with keys and with totals. */
export type Action =
  | { readonly do: 'cancel'; readonly at: number; readonly id: string }
  | { readonly do: 'freeze'; readonly at: number; readonly key: string; readonly for: number }
  | { readonly do: 'unfreeze'; readonly at: number; readonly key: string }
  | { readonly do: 'pause'; readonly at: number; readonly key: string; readonly for: number }
  | ({ readonly do: 'limit'; readonly at: number } & KeyPlan)
  | { readonly do: 'unset'; readonly at: number; readonly key: string }

/** The number of the first producer, and of the first caller, that has a process of its own. */
export function firstAlone({ isTogether }: Plan): number {
  return isTogether === true ? 2 : 1
}

/** The interval of a key for one unit of cost; milliseconds. */
export function intervalOf({ rate }: Pick<KeyPlan, 'rate'>): number {
  return rate.per / rate.count
}

/** The same where it is cold: none is longer. */
export function slowestOf({ rate, warmUp }: Pick<KeyPlan, 'rate' | 'warmUp'>): number {
  return intervalOf({ rate: warmUp?.from ?? rate })
}

/** The limits that a key has in the run, one after the other. */
export function limitsOf({ actions }: Plan, key: KeyPlan): KeyPlan[] {
  return [key, ...actions.filter((action) => action.do === 'limit').filter((limit) => limit.key === key.key)]
}

/** When the last thing that is planned begins, beside the faults. */
export function lastOf({ jobs, turns, actions, workers }: Plan): number {
  const times = [...jobs, ...turns, ...workers].map(({ at }) => at)
  const held = actions.map((action) => action.at + ('for' in action ? action.for : 0))
  return Math.max(0, ...times, ...held)
}
