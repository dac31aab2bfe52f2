import { randomBytes } from 'node:crypto'
import type { ShaperEvents } from '../../core/events.ts'
import { jsonRefusal } from '../../core/job.ts'
import type { Shaper } from '../../shaper/shaper.ts'
import { isWithin } from '../rights.ts'
import { Replay, type StoredEvent } from './replay.ts'
import { eventText, type Source, type Subscriber, type Subscribers } from './subscribers.ts'
import type { Subscription } from './subscription.ts'

const LINGER_MS = 30_000
const LONGEST_ERROR = 500

const JOB_TYPES = ['verdict', 'departure', 'outcome'] as const
type JobType = (typeof JOB_TYPES)[number]

type Name = keyof ShaperEvents

const OUTCOMES = ['completed', 'failed', 'returned', 'recovered', 'expired', 'cancelled'] as const

/**
 * Verdicts, departures and outcomes of jobs. It listens to the shaper while a stream subscribes to one of them, and half
 * a minute longer, so that a client that reconnects with `Last-Event-ID` gets the events that it missed, up to the limit of
 * a stream, and the number of those that are lost.
 */
export class JobEvents implements Source {
  readonly types = JOB_TYPES
  readonly #shaper: Shaper
  readonly #subscribers: Subscribers
  /** Distinguishes the event ids of this process from those of an earlier one. */
  readonly #run = randomBytes(4).toString('hex')
  readonly #replay = new Replay()
  #number = 0
  #linger: NodeJS.Timeout | undefined
  #unsubscribe: (() => void) | undefined

  constructor(shaper: Shaper, subscribers: Subscribers) {
    this.#shaper = shaper
    this.#subscribers = subscribers
  }

  start(): void {
    clearTimeout(this.#linger)
    this.#linger = undefined
    this.#unsubscribe ??= this.#subscribe()
  }

  stop(): void {
    if (this.#unsubscribe === undefined) return
    this.#linger ??= setTimeout(() => this.forget(), LINGER_MS).unref()
  }

  /** Stops listening and drops the stored events. */
  forget(): void {
    clearTimeout(this.#linger)
    this.#linger = undefined
    if (this.#unsubscribe === undefined) return
    this.#unsubscribe()
    this.#unsubscribe = undefined
    // This number stands for all events that are not received from now on.
    this.#replay.clear(++this.#number)
  }

  /**
   * Sends the stored events since the one with this id; before them, as an event `missed`, how many were lost. That event
   * repeats the id of the client: if it disconnects before the others arrive, it asks for the same again.
   */
  replay(subscriber: Subscriber, lastId: string): void {
    const [run, number = ''] = lastId.split('-')
    if (run !== this.#run || !/^\d{1,15}$/.test(number)) {
      // An id of another process: what happened since is unknown.
      subscriber.write(eventText('missed', { count: 0, isAtLeast: true }, `${this.#run}-${this.#number}`))
      return
    }
    const { events, count, isAtLeast } = this.#replay.since(Number(number), (event) =>
      isFor(subscriber, event),
    )
    if (count > 0 || isAtLeast) {
      subscriber.write(eventText('missed', { count, ...(isAtLeast && { isAtLeast }) }, lastId))
    }
    for (const { text } of events) subscriber.write(text)
  }

  #subscribe(): () => void {
    const offs = [
      this.#on('admitted', (event) => this.#send('verdict', event)),
      this.#on('rejected', (event) => this.#send('verdict', jsonRefusal(event))),
      this.#on('departed', (event) => this.#send('departure', event)),
      ...OUTCOMES.map((outcome) =>
        this.#on(outcome, ({ id, key, cost, attempt, at, ...event }) =>
          this.#send('outcome', {
            outcome,
            id,
            key,
            cost,
            attempt,
            at,
            ...('retryAt' in event && { retryAt: event.retryAt }),
            // Not the result of the handler, which may be large and confidential.
            ...('error' in event && { error: String(event.error.message).slice(0, LONGEST_ERROR) }),
          }),
        ),
      ),
    ]
    return () => {
      for (const off of offs) off()
    }
  }

  #on<Event extends Name>(name: Event, subscriber: (...event: ShaperEvents[Event]) => void): () => void {
    this.#shaper.on(name, subscriber)
    return () => this.#shaper.off(name, subscriber)
  }

  #send<Event extends { readonly key: string }>(type: JobType, event: Event): void {
    const number = ++this.#number
    const text = eventText(type, event, `${this.#run}-${number}`)
    const stored = { number, type, key: event.key, text }
    this.#replay.add(stored)
    this.#subscribers.send(type, (subscriber) => (isFor(subscriber, stored) ? text : undefined))
  }
}

function isFor({ types, prefixes, key }: Subscription, event: Omit<StoredEvent, 'text'>): boolean {
  return (
    types.has(event.type as JobType) &&
    (key === undefined || key === event.key) &&
    isWithin(prefixes, event.key)
  )
}
