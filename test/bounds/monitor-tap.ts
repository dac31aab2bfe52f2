import { connect, type Socket } from 'node:net'
import type { Redis } from 'ioredis'

/** What MONITOR says while the tap is open, as it comes. */
export class MonitorTap {
  readonly #redis: Redis
  #socket: Socket | undefined
  /** Of each time that it was open. */
  #heard: Buffer[][] = []
  #hear: () => void = () => undefined

  /** @param redis a client of the same server, which has no password */
  constructor(redis: Redis) {
    this.#redis = redis
  }

  /** Resolves when all commands are shown. */
  async open(): Promise<void> {
    const { path, host, port } = this.#redis.options
    const socket = path === undefined ? connect(port!, host!) : connect(path)
    this.#socket = socket
    socket.write('MONITOR\r\n')
    await new Promise((resolve, reject) => {
      socket.once('data', resolve)
      socket.once('error', reject)
    })
    const chunks: Buffer[] = []
    this.#heard.push(chunks)
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      this.#hear()
    })
  }

  /** What it heard stays. */
  close(): void {
    this.#socket?.destroy()
  }

  /** Resolves when this word was heard, with all lines since the beginning: a list for each time that it was open. */
  async until(word: string): Promise<string[][]> {
    await new Promise<void>((resolve) => {
      this.#hear = () => {
        if (Buffer.concat(this.#heard.at(-1)!.slice(-2)).includes(word)) resolve()
      }
      this.#hear()
    })
    this.#hear = () => undefined
    return this.#heard.splice(0).map((chunks) => Buffer.concat(chunks).toString('latin1').split('\r\n'))
  }
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', a: '\x07', b: '\b' }

/** Reads one line of MONITOR; a byte of a word is a character. */
export function readLine(line: string): { readonly isOfScript: boolean; readonly words: string[] } {
  const [head = ''] = /^\S+ \[[^\]]*\]/.exec(line) ?? []
  const words = [...line.slice(head.length).matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word]) =>
    word!.replace(/\\(?:x([0-9a-f]{2})|(.))/g, (_, code?: string, sign?: string) =>
      code === undefined ? (ESCAPES[sign!] ?? sign!) : String.fromCharCode(Number.parseInt(code, 16)),
    ),
  )
  return { isOfScript: head.endsWith(' lua]'), words }
}
