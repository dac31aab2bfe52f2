import { monotonicNow } from '../../core/clock.ts'
import { MILLISECOND } from '../../core/duration.ts'
import { isVelvetRopeError } from '../../core/errors.ts'
import type { Shaper } from '../../shaper/shaper.ts'
import { listBuckets } from '../bucket-list.ts'
import type { BucketEvent, FlowEvent } from '../wire.ts'
import { FlowLog } from './flow-log.ts'
import { JobEvents } from './job-events.ts'
import { PolledView, separately } from './polled-view.ts'
import { RuleChanges } from './rule-changes.ts'
import { readSnapshots } from './snapshot.ts'
import { eventText, type Source, type Subscriber, Subscribers } from './subscribers.ts'
import type { Subscription } from './subscription.ts'

/** The event `bucket` comes more often than those about all buckets. */
const BUCKET_MS = 500
/** Jobs of a line in the event `bucket`. */
const MOST_JOBS = 50

interface FeedSettings {
  readonly snapshotMs: number
  readonly keepAliveMs: number
  readonly isDraining: () => boolean
  /** Where there is a dashboard, the totals of the last minutes are kept for its chart. */
  readonly dashboard?: object | undefined
}

/**
 * The events of a shaper as text of server-sent events. Each type of event has its own source, which runs only while a
 * stream subscribes to it.
 */
export class EventFeed {
  readonly #shaper: Shaper
  readonly #settings: FeedSettings
  readonly #subscribers: Subscribers
  readonly #jobs: JobEvents
  readonly #rules: RuleChanges
  readonly #flow: FlowLog
  readonly #sources: readonly Source[]
  #timers: NodeJS.Timeout[] = []

  constructor(shaper: Shaper, settings: FeedSettings) {
    const { snapshotMs } = settings
    this.#shaper = shaper
    this.#settings = settings
    const subscribers = new Subscribers(() => this.#arrange())
    this.#flow = new FlowLog(shaper, snapshotMs)
    if (settings.dashboard !== undefined) this.#flow.start()
    this.#subscribers = subscribers
    this.#jobs = new JobEvents(shaper, subscribers)
    this.#rules = new RuleChanges(shaper, subscribers)
    this.#sources = [
      this.#jobs,
      this.#rules,
      new PolledView(subscribers, {
        type: 'snapshot',
        everyMs: snapshotMs,
        groupOf: ({ prefixes }) => prefixes.join('\n'),
        read: (groups) => readSnapshots(shaper, groups),
      }),
      // Not part of the snapshot: walking many buckets takes time, and the chart must not wait for it.
      new PolledView(subscribers, {
        type: 'flow',
        everyMs: snapshotMs,
        groupOf: ({ prefixes }) => prefixes.join('\n'),
        ...separately(async ({ prefixes }) => (seesEveryKey(prefixes) ? this.#flow.read() : undefined)),
      }),
      new PolledView(subscribers, {
        type: 'buckets',
        everyMs: snapshotMs,
        groupOf: ({ prefixes, buckets }) => JSON.stringify([prefixes, buckets]),
        ...separately((subscription) => this.#page(subscription)),
      }),
      new PolledView(subscribers, {
        type: 'bucket',
        everyMs: Math.min(BUCKET_MS, snapshotMs),
        groupOf: ({ key = '' }) => key,
        ...separately((subscription) => this.#bucket(subscription)),
      }),
    ]
  }

  /**
   * The events with which a new stream begins, as text. Views that the store cannot deliver now come later.
   *
   * @throws Problem or InvalidOptionsError for an invalid subscription
   */
  async initialEvents(subscription: Subscription): Promise<string> {
    const { types } = subscription
    const texts = [
      types.has('buckets') ? await this.#first('buckets', () => this.#page(subscription)) : '',
      types.has('bucket') ? await this.#first('bucket', () => this.#bucket(subscription)) : '',
      types.has('rules') ? this.#rules.text() : '',
      types.has('flow') && seesEveryKey(subscription.prefixes)
        ? await this.#first('flow', () => this.#flowSinceStart())
        : '',
    ]
    return texts.join('')
  }

  /** Adds a stream. It begins with the stored events since the one with this id. */
  add(subscriber: Subscriber, lastId: string | undefined): void {
    this.#subscribers.add(subscriber)
    this.#arrange()
    if (lastId !== undefined && this.#jobs.types.some((type) => subscriber.types.has(type))) {
      this.#jobs.replay(subscriber, lastId)
    }
  }

  remove(subscriber: Subscriber): void {
    this.#subscribers.remove(subscriber)
  }

  /** Ends every stream and drops the stored events. */
  end(): void {
    this.#flow.stop()
    this.#subscribers.endAll()
    this.#jobs.forget()
  }

  /** Starts the sources that have a subscriber, and stops the others. */
  #arrange(): void {
    for (const source of this.#sources) {
      if (this.#subscribers.wants(source.types)) source.start()
      else source.stop()
    }
    if (this.#subscribers.size === 0) {
      for (const timer of this.#timers.splice(0)) clearInterval(timer)
    } else if (this.#timers.length === 0) {
      const { snapshotMs, keepAliveMs } = this.#settings
      this.#timers = [
        setInterval(() => this.#check(), snapshotMs).unref(),
        setInterval(() => this.#subscribers.sendAll(': here\n\n'), keepAliveMs).unref(),
      ]
    }
  }

  #check(): void {
    if (this.#settings.isDraining()) this.end()
    else this.#rules.check()
  }

  async #first(type: 'buckets' | 'bucket' | 'flow', read: () => Promise<object>): Promise<string> {
    try {
      return eventText(type, await read())
    } catch (error) {
      if (isVelvetRopeError(error, 'backend-unavailable')) return ''
      throw error
    }
  }

  /** The current totals, with those of the last minutes if they are kept. */
  async #flowSinceStart(): Promise<FlowEvent> {
    return { ...(await this.#flow.read()), earlier: this.#flow.history }
  }

  async #page(subscription: Subscription): Promise<object> {
    const at = nowMs()
    return { at, ...(await listBuckets(this.#shaper, subscription, subscription.buckets)) }
  }

  async #bucket({ key = '' }: Subscription): Promise<BucketEvent> {
    const at = nowMs()
    const [bucket = null, line = null, recent] = await Promise.all([
      this.#shaper.inspect(key),
      this.#shaper.line(key, { limit: MOST_JOBS }),
      this.#shaper.recent(key),
    ])
    return { at, bucket, line, recent }
  }
}

/** Totals of all keys are only for tokens that see every key. */
function seesEveryKey(prefixes: readonly string[]): boolean {
  return prefixes.length === 0
}

function nowMs(): number {
  return monotonicNow() / MILLISECOND
}
