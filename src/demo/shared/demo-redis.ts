import { randomBytes } from 'node:crypto'
import { monotonicNow } from '../../core/clock.ts'
import { SECOND } from '../../core/duration.ts'
import { Connection } from '../../redis/connection/connection.ts'
import { parseConnection } from '../../redis/connection/connection-input.ts'

const LOOKS = 20
const SCANNED_AT_ONCE = 500

/** A prefix that nobody else has; it holds nothing that patterns of Redis take for more than itself. */
export function demoPrefix(): string {
  return `vr-demo-${randomBytes(6).toString('hex')}`
}

/** What the demo wants of its Redis beside the line. */
export class DemoRedis {
  readonly #connection: Connection

  private constructor(connection: Connection) {
    this.#connection = connection
  }

  /** @throws BackendUnavailableError, InvalidOptionsError */
  static async connect(url: string): Promise<DemoRedis> {
    const connection = new Connection(parseConnection(url), () => {})
    try {
      await connection.ready()
      return new DemoRedis(connection)
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  /** By how many microseconds the clock of Redis is ahead of this process's: by the quickest of a few looks. */
  async clockOffset(): Promise<number> {
    let [quickest, offset] = [Number.POSITIVE_INFINITY, 0]
    for (let look = 0; look < LOOKS; look++) {
      const before = monotonicNow()
      const [seconds, microseconds] = await this.#connection.commands.time()
      const after = monotonicNow()
      if (after - before >= quickest) continue
      quickest = after - before
      offset = Number(seconds) * SECOND + Number(microseconds) - (before + after) / 2
    }
    return offset
  }

  /** Takes away every key below the prefix, and no other. */
  async sweep(prefix: string): Promise<void> {
    const { commands } = this.#connection
    let cursor = '0'
    do {
      const [next, keys] = await commands.scan(cursor, 'MATCH', `{${prefix}:*`, 'COUNT', SCANNED_AT_ONCE)
      if (keys.length > 0) await commands.unlink(...keys)
      cursor = next
    } while (cursor !== '0')
  }

  close(): Promise<void> {
    return this.#connection.close()
  }
}
