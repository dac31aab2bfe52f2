import { randomBytes } from 'node:crypto'
import { monotonicNow } from '../../core/clock.ts'
import { SECOND } from '../../core/duration.ts'
import { Connection } from '../../redis/connection/connection.ts'
import { parseConnection } from '../../redis/connection/connection-input.ts'

const LOOKS = 20
const SCANNED_AT_ONCE = 500

/** A unique prefix without characters that Redis patterns treat specially. */
export function demoPrefix(): string {
  return `vr-demo-${randomBytes(6).toString('hex')}`
}

/** The demo's own commands to Redis. */
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

  /**
   * Returns by how many microseconds the clock of Redis is ahead of this process: from the fastest of several readings.
   */
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

  /** Deletes every key below the prefix, and no other. */
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
