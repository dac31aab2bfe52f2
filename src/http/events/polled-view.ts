import type { Source, Subscribers } from './subscribers.ts'
import { eventText } from './subscribers.ts'
import type { EventType, Subscription } from './subscription.ts'

interface PolledViewOptions {
  readonly type: EventType
  readonly everyMs: number
  /** Names the group of a subscription; all subscriptions of a group get the same view. */
  readonly groupOf: (subscription: Subscription) => string
  /** Reads the views of all groups. A group that is missing in the result gets no event this time. */
  readonly read: (groups: ReadonlyMap<string, Subscription>) => Promise<ReadonlyMap<string, object>>
  /** Calls `read` once for each group. Default: once for all groups. */
  readonly isSeparate?: true
}

/**
 * A view that is read periodically while a stream subscribes to it, once for each group of equal subscriptions. A group
 * is never read twice at the same time, even if one read takes longer than the period.
 */
export class PolledView implements Source {
  readonly types: readonly EventType[]
  readonly #options: PolledViewOptions
  readonly #subscribers: Subscribers
  #timer: NodeJS.Timeout | undefined
  /** The groups that are being read. */
  readonly #reading = new Set<string>()

  constructor(subscribers: Subscribers, options: PolledViewOptions) {
    this.types = [options.type]
    this.#subscribers = subscribers
    this.#options = options
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#tick(), this.#options.everyMs).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #tick(): void {
    const { type, groupOf, isSeparate } = this.#options
    const wanted = [...this.#subscribers.groups(type, groupOf)].filter(([name]) => !this.#reading.has(name))
    if (wanted.length === 0) return
    const rounds = isSeparate ? wanted.map((group) => [group]) : [wanted]
    for (const round of rounds) void this.#read(new Map(round))
  }

  async #read(groups: ReadonlyMap<string, Subscription>): Promise<void> {
    for (const name of groups.keys()) this.#reading.add(name)
    const { type, groupOf, read } = this.#options
    try {
      const views = await read(groups)
      const texts = new Map([...views].map(([name, view]) => [name, eventText(type, view)]))
      this.#subscribers.send(type, (subscriber) => texts.get(groupOf(subscriber)))
    } catch {
      // An unavailable store is reported by /readyz.
    } finally {
      for (const name of groups.keys()) this.#reading.delete(name)
    }
  }
}

/** Reads each group separately, so that a slow or failing one does not delay the others. */
export function separately(
  read: (subscription: Subscription) => Promise<object | undefined>,
): Pick<PolledViewOptions, 'read' | 'isSeparate'> {
  return {
    isSeparate: true,
    async read(groups) {
      const views = new Map<string, object>()
      for (const [name, subscription] of groups) {
        const view = await read(subscription)
        if (view !== undefined) views.set(name, view)
      }
      return views
    },
  }
}
