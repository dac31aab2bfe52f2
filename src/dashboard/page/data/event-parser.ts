/** One event of a stream. */
export interface StreamEvent {
  readonly type: string
  readonly data: string
  readonly id: string
}

/** Longer than any event: a stream without line ends is no stream of events. */
const LONGEST = 16 * 1024 * 1024

/**
 * Parses server-sent events from text in pieces, split anywhere (HTML Living Standard, 9.2.6). `EventSource` cannot send
 * an access token.
 */
export class EventParser {
  #rest = ''
  #isAfterReturn = false
  #isFirst = true
  #type = ''
  #data: string[] = []
  #id = ''
  /** The reconnection time in milliseconds, once the stream has set it. */
  retryMs: number | undefined

  /** The last event id, for `Last-Event-ID`. */
  get lastId(): string {
    return this.#id
  }

  /**
   * @returns the events that this piece completes
   * @throws Error when a line has no end
   */
  push(piece: string): StreamEvent[] {
    const events: StreamEvent[] = []
    let text = piece
    if (this.#isFirst && text !== '') {
      this.#isFirst = false
      text = text.replace(/^\uFEFF/, '')
    }
    // The second half of a split line end.
    if (this.#isAfterReturn && text.startsWith('\n')) text = text.slice(1)
    if (piece !== '') this.#isAfterReturn = text.endsWith('\r')
    const lines = (this.#rest + text).split(/\r\n|\n|\r/)
    this.#rest = lines.pop()!
    if (this.#rest.length > LONGEST) throw new Error('expected server-sent events, got: a line without end')
    for (const line of lines) {
      const event = this.#read(line)
      if (event !== undefined) events.push(event)
    }
    return events
  }

  #read(line: string): StreamEvent | undefined {
    if (line === '') return this.#finish()
    const colon = line.indexOf(':')
    if (colon === 0) return undefined
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') this.#type = value
    else if (field === 'data') this.#data.push(value)
    else if (field === 'id' && !value.includes('\0')) this.#id = value
    else if (field === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value)
    return undefined
  }

  #finish(): StreamEvent | undefined {
    const event = { type: this.#type || 'message', data: this.#data.join('\n'), id: this.#id }
    const isEmpty = this.#data.length === 0
    this.#type = ''
    this.#data = []
    return isEmpty ? undefined : event
  }
}
