/** The orders of every process of a campaign. */
export interface ShaperPlan {
  /** Of Redis; absent: the memory of the one process. */
  readonly address?: string
  /** Of a cluster, in the place of `address`. */
  readonly nodes?: readonly { readonly host: string; readonly port: number }[]
  readonly shards?: number
  readonly prefix: string
  /** The limit of every key, but for those that have their own. */
  readonly limit: string
  /** By key; a pattern that ends in `/` is a total. */
  readonly limits?: Readonly<Record<string, string>>
  readonly keys: readonly string[]
  /** Where it writes down what it does. */
  readonly file: string
}

export interface ProducerPlan {
  /** Begins the ids of its jobs. */
  readonly name: string
  /** For each key. */
  readonly jobs: number
  /** Absent: all keys of the campaign. */
  readonly keys?: readonly string[]
  /** Milliseconds between two jobs of a key; absent: all together. */
  readonly gapMs?: number
  readonly cost?: number
  /** A unit that its jobs name, from 1 up to `most`; every third job names none. */
  readonly costs?: { readonly unit: string; readonly most: number }
  readonly attempts?: number
  readonly backoffMs?: number
  readonly timeoutMs?: number
  /** Every so many-th job must depart within `ms`. */
  readonly deadline?: { readonly every: number; readonly ms: number }
  /** When it is refused for want of room, it comes back at its `retryAt`. */
  readonly comesBack?: boolean
  /** Every so many-th job is cancelled within so many milliseconds after it was accepted. */
  readonly cancels?: { readonly every: number; readonly withinMs: number }
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
  /** Handlers settle what they took of `unit`: less, more, twice or not at all, by turns; at most `most`. */
  readonly settles?: { readonly unit: string; readonly most: number }
  /** Says `in-handler <id>` at each start. */
  readonly tellsStarts?: boolean
}

/** Callers that wait for their turns and then go on themselves, each again and again. */
export interface CallerPlan {
  /** Concurrent callers, for each key. */
  readonly callers: number
  /** For so long they ask again; milliseconds. */
  readonly forMs: number
  /** What they do by chance is the same whenever the seed is. */
  readonly seed: number
  /** Keys whose turns cost something else than 1, each with what they cost in turn. */
  readonly costs?: Readonly<Record<string, readonly number[]>>
  /** Keys whose callers take a turn now or not at all, and come back within so many milliseconds. */
  readonly tries?: Readonly<Record<string, number>>
  /** A share of the callers gives up within so many milliseconds. */
  readonly aborts?: Chance
  /** A share of the callers has a timeout within so many milliseconds. */
  readonly timeouts?: Chance
  /** With the first caller that departs, and every so many-th after it, another goes on without a turn: a planted fault. */
  readonly barges?: number
  /** Every so many-th caller is slow to go on, by so many milliseconds: a planted fault. */
  readonly dawdles?: { readonly every: number; readonly ms: number }
}

export interface Chance {
  readonly share: number
  readonly withinMs: number
}

/** What became of the callers of a process. */
export interface Fates {
  departed: number
  refused: number
  aborted: number
  timedOut: number
  /** The line kept their places no more. */
  cancelled: number
  unavailable: number
}

/** The `count`-th time that a process comes to a point of its code, it ends or stops itself there. */
export interface PointPlan {
  readonly point: string
  readonly count: number
  readonly then: 'SIGKILL' | 'SIGSTOP'
}

export type ChildPlan = ShaperPlan & {
  readonly point?: PointPlan
  /** Answers questions and does nothing else. */
  readonly operator?: boolean
  readonly producer?: ProducerPlan
  readonly worker?: WorkerPlan
  readonly caller?: CallerPlan
}

/** What a job carries. */
export interface Work {
  readonly n: number
  readonly text: string
}

/** An order that changes nothing. */
export type Question = { readonly do: 'audit' | 'buckets' } | { readonly do: 'job'; readonly id: string }

/** The orders that a process takes on its standard input, one a line; it answers with a line that begins with `reply`. */
export type Order =
  | Question
  | { readonly do: 'close' }
  | { readonly do: 'crash'; readonly how: 'exception' | 'heap' | 'SIGSEGV' }
  | { readonly do: 'limit'; readonly limit: string }

export interface Reply {
  readonly answer?: unknown
  readonly failure?: string
}
