import { onTestFinished } from 'vitest'

export interface ServerEvent {
  readonly id?: string
  readonly event?: string
  readonly data?: Record<string, unknown>
  readonly retry?: string
  readonly comment?: string
}

/** Reads a stream of server-sent events, block by block, as HTML's section on them says. */
export class EventReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #decoder = new TextDecoder()
  #text = ''

  constructor(response: Response) {
    this.#reader = response.body!.getReader()
    onTestFinished(() => this.cancel())
  }

  /** The next block; undefined at the end of the stream. */
  async next(): Promise<ServerEvent | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n')
      if (end !== -1) {
        const block = this.#text.slice(0, end)
        this.#text = this.#text.slice(end + 2)
        return parse(block)
      }
      const { done, value } = await this.#reader.read()
      if (done) return undefined
      this.#text += this.#decoder.decode(value, { stream: true })
    }
  }

  /** The next block of this kind. */
  async nextOf(event: string): Promise<ServerEvent> {
    for (;;) {
      const block = await this.next()
      if (block === undefined) throw new Error(`the stream ended before an event ${event} came`)
      if (block.event === event) return block
    }
  }

  /** Every block until the stream ends. */
  async rest(): Promise<ServerEvent[]> {
    const blocks: ServerEvent[] = []
    for (let block = await this.next(); block !== undefined; block = await this.next()) blocks.push(block)
    return blocks
  }

  cancel(): Promise<void> {
    return this.#reader.cancel()
  }
}

function parse(block: string): ServerEvent {
  const fields = block.split('\n').map((line) => {
    const colon = line.indexOf(':')
    return [colon === 0 ? 'comment' : line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')] as const
  })
  const { data, ...others } = Object.fromEntries(fields)
  return { ...others, ...(data !== undefined && { data: JSON.parse(data) }) }
}
