import { expect } from 'vitest'
import type { Admission, CloseOptions, ShaperOptions } from '../../src/index.ts'
import { Shaper, type VelvetRopeError } from '../../src/index.ts'
import { type CheckOptions, checkHistory, recordHistory, VirtualClock } from '../../src/testing.ts'

const MS = 1_000

type Options = Omit<ShaperOptions, 'limits' | 'clock'>

/** A shaper on virtual time that starts at 0, with a record of all that happens. Times are milliseconds. */
export class Stage {
  readonly clock = new VirtualClock()
  readonly shaper: Shaper
  /** Every start of a handler: its id, and when. */
  readonly starts: [id: string, ms: number][] = []
  /** Every event but `admitted` and `limit`, in short: name, id, and when. */
  readonly emitted: [event: string, id: string, ms: number][] = []
  readonly #recording

  constructor(limits: string | ShaperOptions['limits'], options: Options = {}) {
    this.shaper = new Shaper('stage', {
      limits: typeof limits === 'string' ? { '*': limits } : limits,
      clock: this.clock,
      ...options,
    })
    this.#recording = recordHistory(this.shaper)
    this.shaper.on('departed', ({ id, at }) => void this.starts.push([id, at]))
    for (const name of ['completed', 'failed', 'returned', 'expired', 'cancelled'] as const) {
      this.shaper.on(name, ({ id, at }) => void this.emitted.push([name, id, at]))
    }
  }

  get now(): number {
    return this.clock.now() / MS
  }

  pass(ms: number): Promise<void> {
    return this.clock.advance(ms * MS)
  }

  sleep(ms: number): Promise<void> {
    return this.clock.sleep(ms * MS)
  }

  /** Lines up `count` jobs named `<key>1`, `<key>2` and so on, with `-` for `/`. */
  async fill(key: string, count: number): Promise<Admission[]> {
    const requests = Array.from({ length: count }, (_, index) => ({
      key,
      data: index,
      id: `${key.replaceAll('/', '-')}${index + 1}`,
    }))
    return this.shaper.enqueueMany(requests)
  }

  /** Closes the shaper, and lets as much time pass as it takes to drain. */
  async close(options: CloseOptions = {}): Promise<void> {
    const closed = this.shaper.close(options)
    await this.pass(options.drainMs ?? 0)
    await closed
  }

  startsOf(key: string): number[] {
    return this.starts.filter(([id]) => id.startsWith(key)).map(([, ms]) => ms)
  }

  /** No law was broken so far, and the books balance; unless allowed, no job may be left over either. */
  async conforms(options: CheckOptions = {}): Promise<void> {
    await this.#recording.audit()
    expect(checkHistory(this.#recording.history, options)).toEqual([])
  }

  /** The call is refused with this error, and nothing has changed. */
  async refuses(
    call: (shaper: Shaper) => unknown,
    error: abstract new (...given: never[]) => VelvetRopeError,
    code: string,
    message: RegExp | string,
  ): Promise<void> {
    const before = await this.#everything()
    const thrown = await new Promise((resolve) => resolve(call(this.shaper))).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(thrown).toBeInstanceOf(error)
    expect(thrown).toMatchObject({ code, message: expect.stringMatching(message) })
    expect(await this.#everything()).toEqual(before)
  }

  async #everything() {
    return [
      await this.shaper.audit(),
      await this.shaper.buckets({ sort: 'key', limit: 1_000 }),
      this.shaper.limits.list(),
      this.emitted.length,
      this.starts.length,
    ]
  }
}

export function neverSettles(): Promise<never> {
  return new Promise(() => undefined)
}
