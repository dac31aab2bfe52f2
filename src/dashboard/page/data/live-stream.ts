import { type ApiProblem, ask } from './api.ts'
import { reconnectDelayMs } from './ask-again.ts'
import { EventParser, type StreamEvent } from './event-parser.ts'
import { asProblem } from './session.ts'

/**
 * | state        | meaning                                                        | left for                 |
 * |--------------|----------------------------------------------------------------|--------------------------|
 * | connecting   | requested, not answered yet                                    | live, reconnecting       |
 * | live         | events arrive                                                  | reconnecting, sleeping   |
 * | reconnecting | it ended and is requested again                                | live, offline            |
 * | offline      | several requests failed, or there is no network                | live                     |
 * | sleeping     | the tab is hidden                                              | connecting               |
 * | refused      | another request would not help; `problem` says why             | -                        |
 */
export type StreamState = 'connecting' | 'live' | 'reconnecting' | 'offline' | 'sleeping' | 'refused'

interface Watcher {
  event(event: StreamEvent): void
  state(state: StreamState, problem?: ApiProblem): void
}

const FAILURES_UNTIL_OFFLINE = 4
/** The service sends an event every second, or at least a comment every 15 s. */
const SILENCE_MS = 25_000
const LONGEST_ANSWER_MS = 10_000

/** Keeps one stream of events open while the page is visible. */
export class LiveStream {
  readonly #path: string
  readonly #watcher: Watcher
  #abort: AbortController | undefined
  #timer: number | undefined
  #failures = 0
  #isLive = false

  constructor(path: string, watcher: Watcher) {
    this.#path = path
    this.#watcher = watcher
    document.addEventListener('visibilitychange', this.#look)
    addEventListener('online', this.#look)
    addEventListener('offline', this.#lose)
    this.#look()
  }

  stop(): void {
    document.removeEventListener('visibilitychange', this.#look)
    removeEventListener('online', this.#look)
    removeEventListener('offline', this.#lose)
    this.#cut()
  }

  readonly #look = (): void => {
    this.#cut()
    if (document.visibilityState === 'hidden') this.#watcher.state('sleeping')
    else void this.#run()
  }

  readonly #lose = (): void => {
    this.#cut()
    this.#watcher.state('offline')
  }

  #cut(): void {
    clearTimeout(this.#timer)
    this.#abort?.abort()
    this.#abort = undefined
    this.#isLive = false
  }

  async #run(): Promise<void> {
    const abort = new AbortController()
    this.#abort = abort
    if (this.#failures === 0) this.#watcher.state('connecting')
    const impatience = window.setTimeout(() => abort.abort(), LONGEST_ANSWER_MS)
    try {
      const response = await ask(this.#path, { accept: 'text/event-stream', signal: abort.signal })
      clearTimeout(impatience)
      await this.#read(response.body!, abort)
      if (this.#abort === abort) this.#fail()
    } catch (error) {
      // Otherwise the page itself ended the stream.
      if (this.#abort === abort) this.#fail(asProblem(error))
    } finally {
      clearTimeout(impatience)
    }
  }

  async #read(body: ReadableStream<Uint8Array>, abort: AbortController): Promise<void> {
    const parser = new EventParser()
    const decoder = new TextDecoder()
    const reader = body.getReader()
    const expectMore = () => window.setTimeout(() => void reader.cancel(), SILENCE_MS)
    let timer = expectMore()
    try {
      for (;;) {
        const { done, value } = await reader.read()
        if (done || this.#abort !== abort) return
        clearTimeout(timer)
        timer = expectMore()
        this.#succeed()
        for (const event of parser.push(decoder.decode(value, { stream: true }))) this.#watcher.event(event)
      }
    } finally {
      clearTimeout(timer)
    }
  }

  #succeed(): void {
    this.#failures = 0
    if (this.#isLive) return
    this.#isLive = true
    this.#watcher.state('live')
  }

  #fail(problem?: ApiProblem): void {
    this.#cut()
    const { status = 0, retryAfterMs = 0 } = problem ?? {}
    const isHopeless = status >= 400 && status < 500 && status !== 408 && status !== 429
    if (isHopeless) {
      this.#watcher.state('refused', problem)
      return
    }
    this.#failures++
    const state = this.#failures >= FAILURES_UNTIL_OFFLINE ? 'offline' : 'reconnecting'
    this.#watcher.state(state, problem)
    const delay = Math.max(retryAfterMs, reconnectDelayMs(this.#failures, Math.random()))
    this.#timer = window.setTimeout(() => void this.#run(), delay)
  }
}
