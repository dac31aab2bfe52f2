import { createHash, randomBytes } from 'node:crypto'
import { createConnection, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compare } from './comparison.ts'
import { type RawReply, ReplyReader } from './reply-reader.ts'
import { RespReader } from './resp-reader.ts'
import type { SimRedis } from './sim-redis.ts'

/** Answers about the server itself, or in an order of its own. */
const NOT_COMPARED: ReadonlySet<string> = new Set([
  'INFO',
  'CLIENT',
  'HSCAN',
  'SCAN',
  'SSCAN',
  'ZSCAN',
  'TIME',
])

interface Talk {
  readonly commands: string[][]
  readonly real: RawReply[]
  readonly ours: RawReply[]
}

/**
 * Stands between clients and a real Redis, and says all to one of ours as well, whose answers no client gets. What one connection
 * awaits before another speaks, comes to both in the same order.
 */
export class Tee {
  readonly path = join(tmpdir(), `vr-tee-${randomBytes(6).toString('hex')}.sock`)
  readonly #real: string
  readonly #ours: SimRedis
  readonly #talks: Talk[] = []
  readonly #sockets = new Set<Socket>()
  readonly #server = createServer((socket) => this.#accept(socket))

  constructor(real: string, ours: SimRedis) {
    this.#real = real
    this.#ours = ours
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(this.path, resolve))
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
  }

  /** How many replies were compared, and the first commands, of each connection, that were answered differently. */
  compared(): { count: number; differences: unknown[] } {
    let count = 0
    const differences: unknown[] = []
    const walks = new Set<string>()
    for (const { commands, real, ours } of this.#talks) {
      const answered = commands.slice(0, real.length)
      const [one, other] = [compare(answered, real), compare(answered, ours)]
      for (const [at, words] of answered.entries()) {
        if (NOT_COMPARED.has(words[0]!.toUpperCase())) continue
        count++
        const isWalk = walks.has(words[1] ?? '') || isWalkText(words)
        if (isWalk) walks.add(createHash('sha1').update(words[1]!, 'latin1').digest('hex'))
        if (canonical(one[at], isWalk) === canonical(other[at], isWalk)) continue
        differences.push({ words: words.map((word) => word.slice(0, 300)), real: one[at], ours: other[at] })
        break
      }
    }
    return { count, differences }
  }

  #accept(client: Socket): void {
    const real = createConnection(this.#real)
    const ours = this.#ours.connect()
    const talk: Talk = { commands: [], real: [], ours: [] }
    this.#talks.push(talk)
    const [words, fromReal, fromOurs] = [new RespReader(), new ReplyReader(), new ReplyReader()]
    client.on('data', (bytes: Buffer) => {
      words.push(bytes)
      for (let command = words.next(); command !== undefined; command = words.next()) {
        talk.commands.push(command)
      }
      ours.receive(bytes)
      real.write(bytes)
    })
    ours.onBytes((bytes) => take(fromOurs, bytes, talk.ours))
    real.on('data', (bytes: Buffer) => {
      take(fromReal, bytes, talk.real)
      client.write(bytes)
    })
    for (const [one, other] of [
      [client, real],
      [real, client],
    ] as const) {
      this.#sockets.add(one)
      one.on('error', () => one.destroy())
      one.on('close', () => {
        this.#sockets.delete(one)
        other.destroy()
        ours.close()
      })
    }
  }
}

/** A script that walks over a hash, which it finds in an order of its own. */
function isWalkText([name = '', text = '']: readonly string[]): boolean {
  return /^eval$/i.test(name) && /'[HZ]SCAN'/.test(text)
}

/** Also inside of JSON, what a script makes of a hash comes in the order in which the hash is walked. */
function canonical(reply: unknown, isWalk: boolean): string {
  if (typeof reply === 'string' && reply.startsWith('${"'))
    return JSON.stringify(inOrder(JSON.parse(reply.slice(1))))
  return JSON.stringify(isWalk ? inOrder(reply) : reply) ?? ''
}

function inOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, item]) => [
    Array.isArray(value) ? '' : name,
    inOrder(item),
  ])
  return entries.map((entry) => JSON.stringify(entry)).sort()
}

function take(reader: ReplyReader, bytes: Buffer, into: RawReply[]): void {
  reader.push(bytes)
  for (let reply = reader.next(); reply !== undefined; reply = reader.next()) into.push(reply)
}
