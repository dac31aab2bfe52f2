import type { ServerConnection } from '../world/network.ts'
import type { Store, StoreHost } from '../world/server.ts'

/** A store that knows what a client says at first, and `TIME`, `INCR` and `BLPOP` (which waits for its timeout and gives nothing). */
export class TinyStore implements Store<number> {
  readonly #host: StoreHost
  #count = 0
  #connections = new Set<() => void>()

  constructor(host: StoreHost) {
    this.#host = host
  }

  connect(): ServerConnection {
    let send: (bytes: Buffer) => void = () => undefined
    let tellClosed: () => void = () => undefined
    let rest = ''
    const end = () => tellClosed()
    this.#connections.add(end)
    return {
      receive: (bytes) => {
        rest += bytes.toString()
        for (;;) {
          const read = readCommand(rest)
          if (read === undefined) return
          rest = rest.slice(read.length)
          this.#answer(read.words, (text) => send(Buffer.from(text)))
        }
      },
      onBytes: (listener) => {
        send = listener
      },
      onClose: (listener) => {
        tellClosed = listener
      },
      close: () => void this.#connections.delete(end),
    }
  }

  snapshot(): number {
    return this.#count
  }

  restart(from: number | 'empty' | 'same'): void {
    this.#count = from === 'same' ? this.#count : from === 'empty' ? 0 : from
    for (const end of this.#connections) end()
    this.#connections.clear()
  }

  #answer([name = '', ...words]: readonly string[], say: (text: string) => void): void {
    const now = this.#host.nowUs()
    const answers: Readonly<Record<string, () => string>> = {
      INCR: () => {
        this.#count += 1
        return `:${this.#count}\r\n`
      },
      TIME: () => `*2\r\n${bulk(`${Math.floor(now / 1e6)}`)}${bulk(`${now % 1e6}`)}`,
      INFO: () => bulk('redis_version:7.0.15\r\nloading:0\r\n'),
      HELLO: () => `*2\r\n${bulk('proto')}:2\r\n`,
    }
    if (name.toUpperCase() === 'BLPOP') {
      this.#host.wake(now + Number(words.at(-1)) * 1e6, () => say('*-1\r\n'))
      return
    }
    say(answers[name.toUpperCase()]?.() ?? '+OK\r\n')
  }
}

function bulk(text: string): string {
  return `$${text.length}\r\n${text}\r\n`
}

function readCommand(text: string): { words: string[]; length: number } | undefined {
  const head = /^\*(\d+)\r\n/.exec(text)
  if (head === null) return undefined
  const words: string[] = []
  let at = head[0].length
  for (let n = 0; n < Number(head[1]); n++) {
    const size = /^\$(\d+)\r\n/.exec(text.slice(at))
    if (size === null) return undefined
    const from = at + size[0].length
    const word = text.slice(from, from + Number(size[1]))
    at = from + Number(size[1]) + 2
    if (text.length < at) return undefined
    words.push(word)
  }
  return { words, length: at }
}
