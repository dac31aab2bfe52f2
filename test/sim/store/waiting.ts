import type { Wait } from './commands/command.ts'
import type { Keyspace } from './keyspace.ts'
import { CommandError, type Reply } from './reply.ts'

interface Waiter {
  readonly keyspace: Keyspace
  readonly wait: Wait
  readonly resume: (reply: Reply) => void
}

/** The commands that wait for something under a key, in the order in which they came. */
export class Waiting {
  readonly #waiters = new Map<Keyspace, Map<string, Set<Waiter>>>()
  readonly #ready: [Keyspace, string][] = []
  #count = 0

  get count(): number {
    return this.#count
  }

  /** @returns what ends it without a reply */
  add(keyspace: Keyspace, wait: Wait, resume: (reply: Reply) => void): () => void {
    const waiter = { keyspace, wait, resume }
    let byKey = this.#waiters.get(keyspace)
    if (byKey === undefined) {
      byKey = new Map()
      this.#waiters.set(keyspace, byKey)
    }
    for (const key of wait.keys) {
      const waiters = byKey.get(key)
      if (waiters === undefined) byKey.set(key, new Set([waiter]))
      else waiters.add(waiter)
    }
    this.#count++
    return () => this.#remove(waiter)
  }

  #remove({ keyspace, wait }: Waiter): void {
    const byKey = this.#waiters.get(keyspace)
    let wasThere = false
    for (const key of wait.keys) {
      const waiters = byKey?.get(key)
      for (const waiter of waiters ?? []) {
        if (waiter.wait !== wait) continue
        waiters!.delete(waiter)
        wasThere = true
      }
      if (waiters?.size === 0) byKey!.delete(key)
    }
    if (wasThere) this.#count--
  }

  /** A key was changed. */
  note(keyspace: Keyspace, key: string): void {
    if (this.#count > 0 && this.#waiters.get(keyspace)?.has(key)) this.#ready.push([keyspace, key])
  }

  /** Gives what has come to those who wait for it; to be called between commands. */
  serve(): void {
    for (let next = this.#ready.shift(); next !== undefined; next = this.#ready.shift()) {
      const [keyspace, key] = next
      for (const waiter of [...(this.#waiters.get(keyspace)?.get(key) ?? [])]) {
        const reply = attemptQuietly(waiter.wait)
        if (reply === undefined) continue
        this.#remove(waiter)
        waiter.resume(reply)
      }
    }
  }

  clear(): void {
    this.#waiters.clear()
    this.#ready.length = 0
    this.#count = 0
  }
}

/** A value of another type under the key is as good as none. */
function attemptQuietly(wait: Wait): Reply | undefined {
  try {
    return wait.attempt()
  } catch (thrown) {
    if (thrown instanceof CommandError) return undefined
    throw thrown
  }
}
