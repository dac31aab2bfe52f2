import { randomBytes } from 'node:crypto'
import type { ShaperEvents } from '../core/events.ts'
import { jsonRefusal } from '../core/job.ts'
import type { Shaper } from '../shaper/shaper.ts'
import { isWithin } from './access.ts'
import { type Audience, eventText, type Listener, type Source } from './audience.ts'
import type { Asked } from './stream-query.ts'

const KEPT = 1_000
const LINGER_MS = 30_000
const LONGEST_ERROR = 500

const JOB_TYPES = ['verdict', 'departure', 'outcome'] as const
type JobType = (typeof JOB_TYPES)[number]

interface Kept {
  readonly number: number
  readonly type: JobType
  readonly key: string
  readonly text: string
}

type Name = keyof ShaperEvents

const OUTCOMES = ['completed', 'failed', 'returned', 'recovered', 'expired', 'cancelled'] as const

/**
 * What becomes of jobs: verdicts, departures, outcomes. It listens to the shaper while somebody wants to hear of one of
 * them, and half a minute longer, so that who comes back with `Last-Event-ID` has missed nothing, up to the last 1,000.
 */
export class JobEvents implements Source {
  readonly types = JOB_TYPES
  readonly #shaper: Shaper
  readonly #audience: Audience
  /** Tells the numbers of this process from those of the one before. */
  readonly #run = randomBytes(4).toString('hex')
  #kept: Kept[] = []
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
    this.#kept = []
    // Stands for whatever is not heard from now on: who comes back with the last number has missed something.
    this.#number++
  }

  /** Tells what was missed since the event with this id, as far as it is kept. */
  replay(listener: Listener, lastId: string): void {
    const [run, number = ''] = lastId.split('-')
    const after = run === this.#run && /^\d{1,15}$/.test(number) ? Number(number) : undefined
    const kept = this.#kept.slice(-KEPT)
    const oldest = kept[0]?.number ?? this.#number + 1
    if (after === undefined || after < oldest - 1) listener.write(': some events were missed\n\n')
    if (after === undefined) return
    for (const event of kept) {
      if (event.number > after && isFor(listener, event)) listener.write(event.text)
    }
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
    this.#kept.push(kept)
    // Twice as many before it is cut, so that cutting costs nothing to speak of.
    if (this.#kept.length >= 2 * KEPT) this.#kept = this.#kept.slice(-KEPT)
    this.#audience.tell(type, (listener) => (isFor(listener, kept) ? text : undefined))
  }
}

function isFor({ types, prefixes, key }: Asked, event: Pick<Kept, 'type' | 'key'>): boolean {
  return types.has(event.type) && (key === undefined || key === event.key) && isWithin(prefixes, event.key)
}
