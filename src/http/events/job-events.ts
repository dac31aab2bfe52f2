import { randomBytes } from 'node:crypto'
import type { ShaperEvents } from '../../core/events.ts'
import { jsonRefusal } from '../../core/job.ts'
import type { Shaper } from '../../shaper/shaper.ts'
import { isWithin } from '../access.ts'
import { type Audience, eventText, type Listener, type Source } from './audience.ts'
import { type Kept, Replay } from './replay.ts'
import type { Asked } from './stream-query.ts'

const LINGER_MS = 30_000
const LONGEST_ERROR = 500

const JOB_TYPES = ['verdict', 'departure', 'outcome'] as const
type JobType = (typeof JOB_TYPES)[number]

type Name = keyof ShaperEvents

const OUTCOMES = ['completed', 'failed', 'returned', 'recovered', 'expired', 'cancelled'] as const

/**
 * What becomes of jobs: verdicts, departures, outcomes. It listens to the shaper while somebody wants to hear of one of
 * them, and half a minute longer, so that a client that comes back with `Last-Event-ID` gets what it missed, as far as a
 * stream may be behind, and is told how many more there were.
 */
export class JobEvents implements Source {
  readonly types = JOB_TYPES
  readonly #shaper: Shaper
  readonly #audience: Audience
  /** Tells the numbers of this process from those of the one before. */
  readonly #run = randomBytes(4).toString('hex')
  readonly #replay = new Replay()
  #number = 0
  #linger: NodeJS.Timeout | undefined
  #unsubscribe: (() => void) | undefined

  constructor(shaper: Shaper, audience: Audience) {
    this.#shaper = shaper
    this.#audience = audience
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

  /** Hears no more, and forgets what was. */
  forget(): void {
    clearTimeout(this.#linger)
    this.#linger = undefined
    if (this.#unsubscribe === undefined) return
    this.#unsubscribe()
    this.#unsubscribe = undefined
    // Stands for whatever is not heard from now on.
    this.#replay.clear(++this.#number)
  }

  /**
   * Tells what was missed since the event with this id, as far as it is kept; first, as an event `missed`, how many were lost.
   * That has the id of the client again: should it leave before the others have come, it asks for the same.
   */
  replay(listener: Listener, lastId: string): void {
    const [run, number = ''] = lastId.split('-')
    if (run !== this.#run || !/^\d{1,15}$/.test(number)) {
      // Of another process: nobody here knows what happened since.
      listener.write(eventText('missed', { count: 0, isAtLeast: true }, `${this.#run}-${this.#number}`))
      return
    }
    const { events, count, isAtLeast } = this.#replay.since(Number(number), (event) => isFor(listener, event))
    if (count > 0 || isAtLeast) {
      listener.write(eventText('missed', { count, ...(isAtLeast && { isAtLeast }) }, lastId))
    }
    for (const { text } of events) listener.write(text)
  }

  #subscribe(): () => void {
    const offs = [
      this.#on('admitted', (event) => this.#tell('verdict', event)),
      this.#on('rejected', (event) => this.#tell('verdict', jsonRefusal(event))),
      this.#on('departed', (event) => this.#tell('departure', event)),
      ...OUTCOMES.map((outcome) =>
        this.#on(outcome, ({ id, key, cost, attempt, at, ...event }) =>
          this.#tell('outcome', {
            outcome,
            id,
            key,
            cost,
            attempt,
            at,
            ...('retryAt' in event && { retryAt: event.retryAt }),
            // What a handler resolved to is the producer's, and may be large.
            ...('error' in event && { error: String(event.error.message).slice(0, LONGEST_ERROR) }),
          }),
        ),
      ),
    ]
    return () => {
      for (const off of offs) off()
    }
  }

  #on<Event extends Name>(name: Event, listener: (...event: ShaperEvents[Event]) => void): () => void {
    this.#shaper.on(name, listener)
    return () => this.#shaper.off(name, listener)
  }

  #tell<Event extends { readonly key: string }>(type: JobType, event: Event): void {
    const number = ++this.#number
    const text = eventText(type, event, `${this.#run}-${number}`)
    const kept = { number, type, key: event.key, text }
    this.#replay.add(kept)
    this.#audience.tell(type, (listener) => (isFor(listener, kept) ? text : undefined))
  }
}

function isFor({ types, prefixes, key }: Asked, event: Omit<Kept, 'text'>): boolean {
  return (
    types.has(event.type as JobType) &&
    (key === undefined || key === event.key) &&
    isWithin(prefixes, event.key)
  )
}
