import { toError } from '../core/thrown.ts'
import { type ConfigChange, changesBetween } from './changes.ts'
import type { Config } from './config.ts'
import { type ConfigLocation, locateConfig, missingFile, readConfigBytes } from './config-file.ts'
import { type ConfigSources, composeConfig } from './load-config.ts'
import { PathWatch } from './path-watch.ts'

/** The result of a reload. */
export type ReloadOutcome = 'unchanged' | 'changed' | 'refused'

export interface WatchOptions extends ConfigSources {
  /** The configuration in force, loaded from the same sources. */
  readonly current: Config
  /**
   * Puts a configuration into force. If it throws or rejects, the reload is refused with that error, and the last good
   * configuration stays `current`; so it must change nothing before it can no longer fail.
   */
  readonly onChange: (next: Config, changes: readonly ConfigChange[]) => void | Promise<void>
  /** Called with the reason when a file is refused: once per file content and reason. It must not throw. */
  readonly onError: (error: Error) => void
  /** How long the file must be unchanged after an event before it is read, in milliseconds. Default: 100. */
  readonly debounceMs?: number
  /** How often to check the file without an event, in milliseconds: some file systems report none. Default: 5,000. */
  readonly pollMs?: number
}

/** A watched configuration file. */
export interface ConfigWatch {
  /**
   * Reloads the file now, as for SIGHUP. `unchanged`: the settings are the same, or the watch was closed; `changed`:
   * `onChange` has been called and has finished; `refused`: the last good configuration stays in force, and `onError`
   * got the reason.
   */
  reload(): Promise<ReloadOutcome>
  /** Stops watching; no callback is called afterwards. */
  close(): void
}

/**
 * Watches the file of a configuration. It notices a file that is written, replaced by a rename, removed and created
 * again, or reached through other symbolic links, and reads it once it is unchanged for a while. A broken or missing
 * file changes nothing. Reloads never overlap, and the watch does not keep the process alive.
 */
export function watchConfig(options: WatchOptions): ConfigWatch {
  const watch = new FileFollower(options)
  // The file may have changed since it was read.
  void watch.reload()
  return watch
}

/** A file that is written continuously is read after this many waits. */
const MOST_WAITS = 10

class FileFollower implements ConfigWatch {
  readonly #options: WatchOptions
  readonly #location: ConfigLocation
  readonly #paths: PathWatch
  readonly #debounceMs: number
  readonly #polling: NodeJS.Timeout
  /** The last good configuration. */
  #current: Config
  /** The last error that was reported, with the digest of its file. */
  #reported: string | undefined
  #timer: NodeJS.Timeout | undefined
  #wasTouched = false
  #isPolling = false
  #isClosed = false
  /** Settles when all requested steps are done; never rejects. */
  #tail: Promise<unknown> = Promise.resolve()

  constructor(options: WatchOptions) {
    this.#options = options
    this.#current = options.current
    this.#location = locateConfig(options)
    this.#debounceMs = options.debounceMs ?? 100
    this.#paths = new PathWatch(this.#location.path, () => this.#touch())
    this.#polling = setInterval(() => this.#poll(), options.pollMs ?? 5_000).unref()
  }

  reload(): Promise<ReloadOutcome> {
    return this.#inTurn(() => this.#check())
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#polling)
    clearTimeout(this.#timer)
    this.#paths.close()
  }

  async #check(): Promise<ReloadOutcome> {
    if (this.#isClosed) return 'unchanged'
    let digest = 'none'
    try {
      // First, so that changes after the file was read are reported.
      await this.#paths.refresh()
      const found = await readConfigBytes(this.#location)
      if (this.#isClosed) return 'unchanged'
      if (found === undefined && this.#isMissed()) throw missingFile(this.#location)
      digest = found?.digest ?? digest
      const isChanged =
        found?.digest !== this.#current.digest &&
        (await this.#apply(composeConfig(this.#location, found, this.#options)))
      this.#reported = undefined
      return isChanged ? 'changed' : 'unchanged'
    } catch (thrown) {
      this.#report(toError(thrown), digest)
      return 'refused'
    }
  }

  async #apply(next: Config): Promise<boolean> {
    const changes = changesBetween(this.#current, next)
    if (changes.length > 0) await this.#options.onChange(next, changes)
    this.#current = next
    return changes.length > 0
  }

  /** Whether the file must exist. A file that disappears does not mean that none is wanted. */
  #isMissed(): boolean {
    return this.#location.isNamed || this.#current.digest !== undefined
  }

  #report(error: Error, digest: string): void {
    const report = `${digest} ${error.message}`
    if (this.#isClosed || this.#reported === report) return
    this.#reported = report
    this.#options.onError(error)
  }

  #touch(): void {
    this.#wasTouched = true
    if (this.#timer === undefined) this.#wait(MOST_WAITS)
  }

  /** Waits until nothing happens for the debounce time. */
  #wait(waits: number): void {
    if (this.#isClosed) return
    this.#wasTouched = false
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (this.#wasTouched && waits > 1) this.#wait(waits - 1)
      else void this.reload()
    }, this.#debounceMs).unref()
  }

  #poll(): void {
    if (this.#isPolling || this.#timer !== undefined) return
    this.#isPolling = true
    void this.#inTurn(async () => {
      await this.#paths.refresh()
      const digest = await readConfigBytes(this.#location).then(
        (found) => found?.digest,
        () => 'unreadable',
      )
      this.#isPolling = false
      if (digest !== this.#current.digest) this.#touch()
    })
  }

  #inTurn<Result>(step: () => Promise<Result>): Promise<Result> {
    const done = this.#tail.then(step)
    this.#tail = done.catch(() => undefined)
    return done
  }
}
