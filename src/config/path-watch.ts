import { type FSWatcher, watch } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { placesOf } from './file-places.ts'

/** A watched folder, and the names in it that matter. */
interface Watched {
  readonly watcher: FSWatcher
  /** Distinguishes it from a folder that replaced it. */
  readonly identity: string
  names: ReadonlySet<string>
}

/** How often the path may change during one refresh; a later refresh gets the rest. */
const MOST_ROUNDS = 5

/**
 * Reports changes of what a path leads to: the file was written, replaced or removed, or the path leads through other
 * folders. It watches folders, because a watch on a file follows the file that a rename replaced. If the system cannot
 * watch, it reports nothing. It does not keep the process alive.
 */
export class PathWatch {
  readonly #path: string
  readonly #onEvent: () => void
  readonly #watched = new Map<string, Watched>()
  #isClosed = false

  /** @param path absolute */
  constructor(path: string, onEvent: () => void) {
    this.#path = path
    this.#onEvent = onEvent
  }

  /** Follows the path as it is now. Changes after it has resolved are reported; make one call at a time. */
  async refresh(): Promise<void> {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      // Changes before the watch began were not reported, so look again.
      if (!(await this.#follow())) return
    }
  }

  close(): void {
    this.#isClosed = true
    for (const folder of [...this.#watched.keys()]) this.#drop(folder)
  }

  /** Returns whether it began to watch anything new. */
  async #follow(): Promise<boolean> {
    const wanted = new Map<string, Set<string>>()
    for (const { folder, name } of await placesOf(this.#path)) {
      wanted.set(folder, (wanted.get(folder) ?? new Set()).add(name))
    }
    for (const folder of [...this.#watched.keys()]) if (!wanted.has(folder)) this.#drop(folder)
    let isNew = false
    for (const [folder, names] of wanted) isNew = (await this.#watch(folder, names)) || isNew
    return isNew
  }

  async #watch(folder: string, names: ReadonlySet<string>): Promise<boolean> {
    const identity = await identityOf(folder)
    const watched = this.#watched.get(folder)
    if (watched !== undefined && watched.identity === identity) {
      watched.names = names
      return false
    }
    this.#drop(folder)
    if (identity === undefined || this.#isClosed) return false
    try {
      const watcher = watch(folder, { persistent: false })
      this.#watched.set(folder, { watcher, identity, names })
      watcher.on('change', (kind, name) => this.#notice(folder, kind, name))
      watcher.on('error', () => this.#lose(folder))
      return true
    } catch {
      // The folder is gone, or the system has no more watches.
      return false
    }
  }

  #notice(folder: string, kind: string, name: string | Buffer | null): void {
    // A folder that is moved or removed reports its own name, and nothing afterwards.
    if (kind === 'rename' && name === basename(folder)) this.#lose(folder)
    else if (name === null || this.#watched.get(folder)?.names.has(String(name))) this.#onEvent()
  }

  #lose(folder: string): void {
    this.#drop(folder)
    this.#onEvent()
  }

  #drop(folder: string): void {
    this.#watched.get(folder)?.watcher.close()
    this.#watched.delete(folder)
  }
}

async function identityOf(folder: string): Promise<string | undefined> {
  try {
    const { dev, ino, birthtimeNs } = await stat(folder, { bigint: true })
    return `${dev}:${ino}:${birthtimeNs}`
  } catch {
    return undefined
  }
}
