import type { Keyspace } from './keyspace.ts'
import { NO_LIST, OK, type Reply, refuse } from './reply.ts'
import type { Server } from './server.ts'

interface Watched {
  stop(): void
  /** Whether its end has come since. */
  hasEnded(): boolean
}

/** MULTI, EXEC and WATCH of one session. */
export class Transaction {
  readonly #server: Server
  readonly #database: () => Keyspace
  readonly #run: (words: readonly string[]) => Reply
  #queue: (readonly string[])[] | undefined
  #isSpoilt = false
  #isChanged = false
  #watched: Watched[] = []

  constructor(server: Server, database: () => Keyspace, run: (words: readonly string[]) => Reply) {
    this.#server = server
    this.#database = database
    this.#run = run
  }

  get isOpen(): boolean {
    return this.#queue !== undefined
  }

  begin(): Reply {
    if (this.#queue !== undefined) refuse('ERR MULTI calls can not be nested')
    this.#queue = []
    this.#isSpoilt = false
    return OK
  }

  add(words: readonly string[]): void {
    this.#queue?.push(words)
  }

  /** A command that cannot run was sent: nothing of it will. Gives the error that says so. */
  spoil(name: string, problem: string): string {
    this.#isSpoilt = true
    if (name !== 'exec') return problem
    this.#queue = undefined
    this.unwatch()
    return `EXECABORT Transaction discarded because of: ${problem.replace(/^ERR /, '')}`
  }

  execute(): Reply {
    const queue = this.#queue ?? refuse('ERR EXEC without MULTI')
    const hasEnded = this.#watched.some(({ hasEnded }) => hasEnded())
    const [isSpoilt, isChanged] = [this.#isSpoilt, this.#isChanged || hasEnded]
    this.#queue = undefined
    this.unwatch()
    if (isSpoilt) refuse('EXECABORT Transaction discarded because of previous errors.')
    return isChanged ? NO_LIST : queue.map(this.#run)
  }

  discard(): Reply {
    if (this.#queue === undefined) refuse('ERR DISCARD without MULTI')
    this.#queue = undefined
    return this.unwatch()
  }

  watch(keys: readonly string[]): Reply {
    if (this.#queue !== undefined) refuse('ERR WATCH inside MULTI is not allowed')
    const database = this.#database()
    const notify = () => {
      this.#isChanged = true
    }
    for (const key of keys) {
      const hadEnded = database.hasEnded(key)
      // That one is removed which had ended before changes nothing.
      const onChange = () => {
        if (!hadEnded || database.values.has(key)) notify()
      }
      const stop = watchKey(this.#server, database, key, onChange)
      this.#watched.push({ stop, hasEnded: () => !hadEnded && database.hasEnded(key) })
    }
    return OK
  }

  unwatch(): Reply {
    for (const { stop } of this.#watched) stop()
    this.#watched = []
    this.#isChanged = false
    return OK
  }
}

function watchKey({ watchers }: Server, database: Keyspace, key: string, notify: () => void): () => void {
  const byKey = watchers.get(database) ?? new Map<string, Set<() => void>>()
  watchers.set(database, byKey)
  const set = byKey.get(key) ?? new Set()
  byKey.set(key, set)
  set.add(notify)
  return () => {
    set.delete(notify)
    if (set.size === 0) byKey.delete(key)
    if (byKey.size === 0) watchers.delete(database)
  }
}
