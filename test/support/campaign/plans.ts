/** What every process of a campaign is told. */
export interface ShaperPlan {
  /** Of Redis; absent: the memory of the one process. */
  readonly address?: string
  readonly prefix: string
  /** The limit of every key. */
  readonly limit: string
  readonly keys: readonly string[]
  /** Where it writes down what it does. */
  readonly file: string
}

export interface ProducerPlan {
  /** Begins the ids of its jobs. */
  readonly name: string
  /** For each key. */
  readonly jobs: number
  /** Milliseconds between two jobs of a key; absent: all at once. */
  readonly gapMs?: number
  readonly cost?: number
  readonly attempts?: number
  readonly backoffMs?: number
  readonly timeoutMs?: number
  /** Every so many-th job must depart within `ms`. */
  readonly deadline?: { readonly every: number; readonly ms: number }
  /** When it is refused for want of room, it comes back when it was told to. */
  readonly comesBack?: boolean
}

export interface WorkerPlan {
  readonly concurrency?: number
  readonly leaseMs?: number
  readonly scheduler?: boolean
  readonly takesMs?: number
  /** A key whose handlers take longer. */
  readonly slow?: { readonly key: string; readonly takesMs: number }
  /** Attempts of each job that fail before one succeeds. */
  readonly failFirst?: number
  /** Every so many-th job freezes its bucket, once in each worker. */
  readonly freeze?: { readonly every: number; readonly forMs: number }
  /** Every so many-th job never settles on its first attempt. */
  readonly hangEvery?: number
  /** Says `in-handler <id>` at each start. */
  readonly tellsStarts?: boolean
}

export type ChildPlan = ShaperPlan & { readonly producer?: ProducerPlan; readonly worker?: WorkerPlan }

/** What a job carries. */
export interface Work {
  readonly n: number
}

/** What a process may be told on its standard input, one a line; it answers with a line that begins with `reply`. */
export type Order =
  | { readonly do: 'audit' | 'buckets' | 'close' }
  | { readonly do: 'job'; readonly id: string }
  | { readonly do: 'limit'; readonly limit: string }

export interface Reply {
  readonly answer?: unknown
  readonly failure?: string
}
