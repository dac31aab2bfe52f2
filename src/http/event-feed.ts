import { randomBytes } from 'node:crypto'
import type { ShaperEvents } from '../core/events.ts'
import type { Shaper } from '../shaper/shaper.ts'
import { isWithin } from './access.ts'
import { takeSnapshots } from './snapshot.ts'

const KEPT = 1_000
const LINGER_MS = 30_000
const LONGEST_ERROR = 500

/** One who listens. */
export interface Listener {
  readonly prefixes: readonly string[]
  /** Whether it may still listen; asked before it is told anything. */
  isWelcome(): boolean
  /** Gets the text of an event or a comment. */
  write(text: string): void
  end(): void
}

interface Kept {
  readonly number: number
  readonly key: string
  readonly text: string
}

type Name = keyof ShaperEvents

const OUTCOMES = ['completed', 'failed', 'returned', 'recovered', 'expired', 'cancelled'] as const

/**
 * What happens in a shaper, as text of server-sent events. It listens to the shaper while somebody listens to it, and
 * half a minute longer, so that who comes back with `Last-Event-ID` has missed nothing, up to the last 1,000 events.
 */
export class EventFeed {
  readonly #shaper: Shaper
  readonly #snapshotMs: number
  readonly #keepAliveMs: number
  readonly #isDraining: () => boolean
  readonly #listeners = new Set<Listener>()
  /** Tells the numbers of this process from those of the one before. */
  readonly #run = randomBytes(4).toString('hex')
  #kept: Kept[] = []
  #number = 0
  #timers: NodeJS.Timeout[] = []
  #linger: NodeJS.Timeout | undefined
  #unsubscribe: (() => void) | undefined
  #isTakingSnapshot = false

  constructor(
    shaper: Shaper,
    {
      snapshotMs,
      keepAliveMs,
      isDraining,
    }: { readonly snapshotMs: number; readonly keepAliveMs: number; readonly isDraining: () => boolean },
  ) {
    this.#shaper = shaper
    this.#snapshotMs = snapshotMs
    this.#keepAliveMs = keepAliveMs
    this.#isDraining = isDraining
  }

  get listeners(): number {
    return this.#listeners.size
  }

  /** Begins with what was missed since the event with this id, as far as it is kept. */
  join(listener: Listener, lastId: string | undefined): void {
    this.#wake()
    this.#listeners.add(listener)
    if (lastId !== undefined) this.#replay(listener, lastId)
  }

  leave(listener: Listener): void {
    if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return
    for (const timer of this.#timers) clearInterval(timer)
    this.#timers = []
    this.#linger = setTimeout(() => this.#sleep(), LINGER_MS).unref()
  }

  /** Ends every stream, and forgets what was. */
  end(): void {
    for (const listener of [...this.#listeners]) this.#dismiss(listener)
    clearTimeout(this.#linger)
    this.#sleep()
  }

  #dismiss(listener: Listener): void {
    this.leave(listener)
    listener.end()
  }

  #wake(): void {
    clearTimeout(this.#linger)
    this.#unsubscribe ??= this.#subscribe()
    if (this.#timers.length > 0) return
    this.#timers = [
      setInterval(() => this.#tick(), this.#snapshotMs).unref(),
      setInterval(() => this.#toEach(() => ': here\n\n'), this.#keepAliveMs).unref(),
    ]
  }

  #sleep(): void {
    this.#unsubscribe?.()
    this.#unsubscribe = undefined
    this.#kept = []
  }

  #subscribe(): () => void {
    const offs = [
      this.#on('admitted', (event) => this.#tell('verdict', event)),
      this.#on('rejected', (event) => this.#tell('verdict', event)),
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

  #tell<Event extends { readonly key: string }>(type: string, event: Event): void {
    const number = ++this.#number
    const text = `id: ${this.#run}-${number}\nevent: ${type}\ndata: ${JSON.stringify(event)}\n\n`
    this.#kept.push({ number, key: event.key, text })
    // Twice as many before it is cut, so that cutting costs nothing to speak of.
    if (this.#kept.length >= 2 * KEPT) this.#kept = this.#kept.slice(-KEPT)
    this.#toEach(({ prefixes }) => (isWithin(prefixes, event.key) ? text : undefined))
  }

  #toEach(textFor: (listener: Listener) => string | undefined): void {
    for (const listener of this.#listeners) {
      if (!listener.isWelcome()) {
        this.#dismiss(listener)
        continue
      }
      const text = textFor(listener)
      if (text !== undefined) listener.write(text)
    }
  }

  #replay(listener: Listener, lastId: string): void {
    const [run, number = ''] = lastId.split('-')
    const after = run === this.#run && /^\d{1,15}$/.test(number) ? Number(number) : undefined
    const kept = this.#kept.slice(-KEPT)
    const oldest = kept[0]?.number ?? this.#number + 1
    if (after === undefined || after < oldest - 1) listener.write(': some events were missed\n\n')
    if (after === undefined) return
    for (const event of kept) {
      if (event.number > after && isWithin(listener.prefixes, event.key)) listener.write(event.text)
    }
  }

  #tick(): void {
    if (this.#isDraining()) this.end()
    else if (!this.#isTakingSnapshot) void this.#tellSnapshots()
  }

  /** One for all who may see the same. */
  async #tellSnapshots(): Promise<void> {
    this.#isTakingSnapshot = true
    const groups = new Map([...this.#listeners].map(({ prefixes }) => [prefixes.join('\n'), prefixes]))
    try {
      const snapshots = await takeSnapshots(this.#shaper, groups)
      const texts = new Map(
        [...snapshots].map(([group, snapshot]) => [
          group,
          `event: snapshot\ndata: ${JSON.stringify(snapshot)}\n\n`,
        ]),
      )
      this.#toEach(({ prefixes }) => texts.get(prefixes.join('\n')))
    } catch {
      // A line that cannot be reached is told by /readyz.
    } finally {
      this.#isTakingSnapshot = false
    }
  }
}
