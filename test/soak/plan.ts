import type { ShaperPlan } from '../support/campaign/plans.ts'

/** What one process of a soak does. */
export interface SoakPlan extends ShaperPlan {
  readonly address: string
  readonly role: 'producer' | 'worker' | 'operator'
  /** Begins the ids of its jobs. */
  readonly name: string
  readonly keepFinished: number
  /** Jobs per second of each key that a producer lines up. */
  readonly perSecond: number
}

/** One a line on the standard input; the answer is a line of JSON. */
export type SoakOrder =
  | { readonly do: 'sample' | 'audit' | 'rest' | 'go on' | 'close' }
  | { readonly do: 'job'; readonly id: string }
  | { readonly do: 'limit'; readonly limit: string }
  | { readonly do: 'freeze'; readonly key: string; readonly forMs: number }

/** What a process says of itself. Bytes; handles are what keeps its event loop alive. */
export interface ProcessSample {
  /** After a collection, without `code`. */
  readonly heap: number
  /** What V8 compiled, as bytecode and as machine code: each path that is taken for the first time, or often, adds to it. */
  readonly code: number
  readonly rss: number
  readonly handles: number
  /** The 99th percentile of how late its event loop was since the sample before; milliseconds. */
  readonly lagMs: number
}

export interface RedisSample {
  /** Of its data, without its clients and its own tables; bytes. */
  readonly usedMemory: number
  readonly keys: number
  /** Where nothing is under way: bytes of each key, with those that its parts take. */
  readonly byKey?: Readonly<Record<string, number>>
}

/** One look at everything. */
export interface SoakSample {
  /** Seconds since the soak began. */
  readonly at: number
  readonly redis: RedisSample | undefined
  /** By the name of the process; without those that could not be asked. */
  readonly processes: Readonly<Record<string, ProcessSample>>
}
