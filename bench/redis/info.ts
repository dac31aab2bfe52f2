import { Redis } from 'ioredis'

/** Looks at the server from outside, with a connection of its own. */
export class RedisInfo {
  readonly #client: Redis

  constructor(socket: string) {
    this.#client = new Redis(socket)
  }

  /** Seconds of processor time that the server has used, in all its threads. */
  async cpuSeconds(): Promise<number> {
    const fields = await this.#section('cpu')
    return read(fields, 'used_cpu_sys') + read(fields, 'used_cpu_user')
  }

  /** Bytes that it has allocated, without the buffers of its clients, which come and go. */
  async usedMemory(): Promise<number> {
    const fields = await this.#section('memory')
    return read(fields, 'used_memory') - read(fields, 'mem_clients_normal')
  }

  /** Every key with the number of its entries: fields, members, items; 1 for a string. At most `most` keys. */
  async entriesByKey(most: number): Promise<Map<string, number>> {
    const entries = new Map<string, number>()
    let cursor = '0'
    do {
      const [next, keys] = await this.#client.scan(cursor, 'COUNT', 1_000)
      for (const key of keys.slice(0, most - entries.size)) entries.set(key, await this.#entriesOf(key))
      cursor = next
    } while (cursor !== '0' && entries.size < most)
    return entries
  }

  countKeys(): Promise<number> {
    return this.#client.dbsize()
  }

  close(): void {
    this.#client.disconnect()
  }

  async #entriesOf(key: string): Promise<number> {
    switch (await this.#client.type(key)) {
      case 'hash':
        return this.#client.hlen(key)
      case 'list':
        return this.#client.llen(key)
      case 'set':
        return this.#client.scard(key)
      case 'zset':
        return this.#client.zcard(key)
      case 'stream':
        return this.#client.xlen(key)
      default:
        return 1
    }
  }

  async #section(name: string): Promise<Map<string, string>> {
    const lines = (await this.#client.info(name)).split('\r\n')
    return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]))
  }
}

function read(fields: ReadonlyMap<string, string>, name: string): number {
  return Number(fields.get(name))
}
