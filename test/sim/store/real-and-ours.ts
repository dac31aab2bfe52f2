import { createConnection, type Socket } from 'node:net'
import { atFileEnd } from '../../support/at-file-end.ts'
import { startRedis } from '../../support/redis-server.ts'
import { type RawReply, ReplyReader } from './reply-reader.ts'
import type { Host } from './server.ts'
import { SimRedis } from './sim-redis.ts'

export type Words = readonly (string | number)[]

/** The bytes of a command; of a word, one in each character. */
export function encode(words: Words): Buffer {
  const parts = words.map((word) => `$${`${word}`.length}\r\n${word}\r\n`)
  return Buffer.from(`*${words.length}\r\n${parts.join('')}`, 'latin1')
}

/** What both answer to the same commands, sent in one go. */
export interface Answers {
  readonly real: readonly RawReply[]
  readonly ours: readonly RawReply[]
}

/** A real Redis and one of ours, each with one connection. */
export class RealAndOurs {
  readonly ours: SimRedis
  readonly #path: string
  #socket: Socket

  private constructor(path: string, ours: SimRedis) {
    this.#path = path
    this.#socket = createConnection(path)
    this.ours = ours
  }

  static async start(settings: Readonly<Record<string, string>> = {}): Promise<RealAndOurs> {
    const { url } = await startRedis({ config: settings })
    const both = RealAndOurs.at(url)
    atFileEnd(async () => both.close())
    return both
  }

  /** @param path of the socket of a real Redis, whose data are lost */
  static at(path: string): RealAndOurs {
    return new RealAndOurs(path, new SimRedis(clock()))
  }

  close(): void {
    this.#socket.destroy()
  }

  /** A command for the real one alone. */
  async tellReal(words: Words): Promise<RawReply | undefined> {
    return (await this.#real([words]))[0]
  }

  /** Forgets all data and connections of both. */
  async reset(): Promise<void> {
    this.#socket.destroy()
    this.#socket = createConnection(this.#path)
    await this.#real([['FLUSHALL'], ['SCRIPT', 'FLUSH']])
    this.ours.restart('empty')
  }

  /** @param cut how many bytes ours gets at once */
  async answers(commands: readonly Words[], cut = Number.POSITIVE_INFINITY): Promise<Answers> {
    const real = await this.#real(commands)
    return { real, ours: this.#ours(commands, cut) }
  }

  #real(commands: readonly Words[]): Promise<RawReply[]> {
    const reader = new ReplyReader()
    const replies: RawReply[] = []
    return new Promise((resolve, reject) => {
      const onData = (bytes: Buffer) => {
        reader.push(bytes)
        for (let reply = reader.next(); reply !== undefined; reply = reader.next()) replies.push(reply)
        if (replies.length >= commands.length) done(() => resolve(replies))
      }
      const onEnd = () =>
        done(() => reject(new Error(`the connection was lost after ${replies.length} replies`)))
      const done = (settle: () => void) => {
        this.#socket.off('data', onData).off('close', onEnd).off('error', onEnd)
        settle()
      }
      this.#socket.on('data', onData).on('close', onEnd).on('error', onEnd)
      this.#socket.write(Buffer.concat(commands.map(encode)))
    })
  }

  #ours(commands: readonly Words[], cut: number): RawReply[] {
    const reader = new ReplyReader()
    const connection = this.ours.connect()
    connection.onBytes((bytes) => reader.push(bytes))
    const bytes = Buffer.concat(commands.map(encode))
    for (let at = 0; at < bytes.length; at += cut) connection.receive(bytes.subarray(at, at + cut))
    connection.close()
    const replies: RawReply[] = []
    for (let reply = reader.next(); reply !== undefined; reply = reader.next()) replies.push(reply)
    return replies
  }
}

/** As far as clocks go, both have the same; nothing here waits. */
function clock(): Host {
  let draws = 0
  return {
    nowUs: () => Date.now() * 1_000,
    wake: () => () => undefined,
    random: () => (draws++ % 97) / 97,
  }
}
