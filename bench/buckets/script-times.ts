import { Redis } from 'ioredis'

/** What scripts of one shaper took in Redis. Milliseconds. */
export interface ScriptTime {
  readonly calls: number
  readonly sum: number
  readonly longest: number
}

/** Of no script; but of nearly all commands in scripts, which are logged as well. */
const SHORTEST_US = 30

/** Reads the slow log, into which every script is written, so that others on the same server can be told apart. */
export class ScriptTimes {
  readonly #client: Redis
  readonly #tag: string

  /** @param tag which every key of the shaper begins with */
  constructor(socket: string, tag: string) {
    this.#client = new Redis(socket)
    this.#tag = tag
  }

  /** From now on. */
  async begin(): Promise<void> {
    await this.#client.config('SET', 'slowlog-log-slower-than', String(SHORTEST_US))
    await this.#client.config('SET', 'slowlog-max-len', '1000000')
    await this.#client.call('SLOWLOG', 'RESET')
  }

  async end(): Promise<ScriptTime> {
    await this.#client.config('SET', 'slowlog-log-slower-than', '-1')
    const entries = (await this.#client.call('SLOWLOG', 'GET', '-1')) as [number, number, number, string[]][]
    const times = entries
      .filter(
        ([, , , [command = '', , , key = '']]) => command.startsWith('eval') && key.startsWith(this.#tag),
      )
      .map(([, , microseconds]) => microseconds / 1_000)
    return {
      calls: times.length,
      sum: times.reduce((sum, ms) => sum + ms, 0),
      longest: Math.max(0, ...times),
    }
  }
}
