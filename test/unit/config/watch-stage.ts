import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { renderChanges } from '../../../src/config/changes.ts'
import type { Config } from '../../../src/config/config.ts'
import { type ConfigSources, loadConfig } from '../../../src/config/load-config.ts'
import { type ConfigWatch, type WatchOptions, watchConfig } from '../../../src/config/watch-config.ts'

/** What a watch reported. */
interface Report {
  /** The name in the configuration, which distinguishes versions. */
  readonly name?: string
  readonly changes?: readonly string[]
  readonly error?: string
}

/** So that only events of the file system can have been the cause. */
export const NEVER_MS = 2_000_000_000

/** A watch, and what it reports, one after the other. */
export class WatchStage {
  readonly watch: ConfigWatch
  readonly start: Config
  readonly #reports: Report[] = []
  #onTold: (() => void) | undefined

  private constructor(start: Config, options: ConfigSources & Partial<WatchOptions>) {
    this.start = start
    const { onChange, ...rest } = options
    this.watch = watchConfig({
      debounceMs: 20,
      pollMs: NEVER_MS,
      ...rest,
      current: start,
      onChange: async (next, changes) => {
        await onChange?.(next, changes)
        this.#report({ name: next.name, changes: renderChanges(changes) })
      },
      onError: ({ message }) => this.#report({ error: message }),
    })
  }

  /** Resolves when the watch has looked at the file for the first time. */
  static async open(options: Partial<WatchOptions>): Promise<WatchStage> {
    const sources = { env: {}, ...options }
    const stage = new WatchStage(await loadConfig(sources), sources)
    onTestFinished(() => stage.watch.close())
    await stage.watch.reload()
    return stage
  }

  /** Reported and not yet taken. */
  get left(): number {
    return this.#reports.length
  }

  async next(): Promise<Report> {
    if (this.#reports.length === 0) {
      await new Promise<void>((resolve) => {
        this.#onTold = resolve
      })
    }
    return this.#reports.shift()!
  }

  #report(report: Report): void {
    this.#reports.push(report)
    this.#onTold?.()
    this.#onTold = undefined
  }
}

/** As careful programs save: beside it, then renamed over it. */
export function replaceFile(folder: string, text: string, name = 'velvet-rope.yaml'): void {
  writeFileSync(join(folder, `.${name}.new`), text)
  renameSync(join(folder, `.${name}.new`), join(folder, name))
}
