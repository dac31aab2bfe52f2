import { toError } from '../core/thrown.ts'
import { type ConfigChange, changesBetween } from './changes.ts'
import type { Config } from './config.ts'
import { type ConfigLocation, locateConfig, missingFile, readConfigBytes } from './config-file.ts'
import { type ConfigSources, composeConfig } from './load-config.ts'
import { PathWatch } from './path-watch.ts'

/** What came of looking at the file again. */
export type ReloadOutcome = 'unchanged' | 'changed' | 'refused'

export interface WatchOptions extends ConfigSources {
  /** What is in force, as `loadConfig` gave it for the same sources. */
  readonly current: Config
  /**
   * Puts a configuration in force. What it throws or rejects with is told as the reason for a refusal, and the last
   * good one stays `current`; so it must change nothing before it can no longer fail.
   */
  readonly onChange: (next: Config, changes: readonly ConfigChange[]) => void | Promise<void>
  /** Told why the file was refused: once for the same file and the same reason. It may not throw. */
  readonly onError: (error: Error) => void
  /** From the first event on, how long the file must be left alone before it is read. Default: 100 ms. */
  readonly debounceMs?: number
  /** How often to look without an event: some file systems tell none. Default: 5 s. */
  readonly pollMs?: number
}

/** A configuration file that is followed. */
export interface ConfigWatch {
  /**
   * Looks at the file now, as SIGHUP asks for. `unchanged`: it says the same as before, or the watch was closed;
   * `changed`: `onChange` has been called and has ended; `refused`: the last good configuration stays in force, and
   * `onError` knows why.
   */
  reload(): Promise<ReloadOutcome>
  /** Calls nobody back any more. */
  close(): void
}

/**
 * Follows the file of a configuration. It notices a file that is written, renamed over, removed and made again, or led
 * to by other symbolic links, and reads it once it is left alone. A file that is broken or gone changes nothing. There
 * are never two reloads at once, and no process is kept alive.
 */
export function watchConfig(options: WatchOptions): ConfigWatch {
  const watch = new FileFollower(options)
  // The file may have changed since it was read.
  void watch.reload()
  return watch
}

/** A file that is written without a pause is read after so many times the wait. */
const MOST_WAITS = 10

class FileFollower implements ConfigWatch {
  readonly #options: WatchOptions
  readonly #location: ConfigLocation
  readonly #paths: PathWatch
  readonly #debounceMs: number
  readonly #polling: NodeJS.Timeout
  /** The last good one. */
  #current: Config
  /** What `onError` was told last, and of which file. */
  #told: string | undefined
  #timer: NodeJS.Timeout | undefined
  #wasTouched = false
  #isPolling = false
  #isClosed = false
  /** Settles when all that was asked for so far is done; never rejects. */
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
      // First, so that what happens after the file was read is told.
      await this.#paths.refresh()
      const found = await readConfigBytes(this.#location)
      if (this.#isClosed) return 'unchanged'
      if (found === undefined && this.#isMissed()) throw missingFile(this.#location)
      digest = found?.digest ?? digest
      const isChanged =
        found?.digest !== this.#current.digest &&
        (await this.#apply(composeConfig(this.#location, found, this.#options)))
      this.#told = undefined
      return isChanged ? 'changed' : 'unchanged'
    } catch (thrown) {
      this.#tell(toError(thrown), digest)
      return 'refused'
    }
  }

  async #apply(next: Config): Promise<boolean> {
    const changes = changesBetween(this.#current, next)
    if (changes.length > 0) await this.#options.onChange(next, changes)
    this.#current = next
    return changes.length > 0
  }

  /** Whether a file should be there. One that was there is not taken for a wish to have none. */
  #isMissed(): boolean {
    return this.#location.isNamed || this.#current.digest !== undefined
  }

  #tell(error: Error, digest: string): void {
    const telling = `${digest} ${error.message}`
    if (this.#isClosed || this.#told === telling) return
    this.#told = telling
    this.#options.onError(error)
  }

  #touch(): void {
    this.#wasTouched = true
    if (this.#timer === undefined) this.#wait(MOST_WAITS)
  }

  /** Until nothing happens for as long as it takes to write a file. */
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
