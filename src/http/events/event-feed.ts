import { monotonicNow } from '../../core/clock.ts'
import { MILLISECOND } from '../../core/duration.ts'
import { isVelvetRopeError } from '../../core/errors.ts'
import type { Shaper } from '../../shaper/shaper.ts'
import { listBuckets } from '../bucket-list.ts'
import type { BucketEvent, FlowEvent } from '../wire.ts'
import { Audience, eventText, type Listener, type Source } from './audience.ts'
import { FlowLog } from './flow-log.ts'
import { JobEvents } from './job-events.ts'
import { RuleNews } from './rule-news.ts'
import { apart, SharedView } from './shared-view.ts'
import { takeSnapshots } from './snapshot.ts'
import type { Asked } from './stream-query.ts'

/** One bucket is looked at more often than all of them. */
const BUCKET_MS = 500
/** Jobs of a line in the event `bucket`. */
const MOST_JOBS = 50

interface FeedSettings {
  readonly snapshotMs: number
  readonly keepAliveMs: number
  readonly isDraining: () => boolean
  /** With it, the flow of the last minutes is kept for those who open it. */
  readonly dashboard?: object | undefined
}

/**
 * What happens in a shaper, as text of server-sent events. Each kind of event has a source of its own, which runs while
 * somebody wants it; while nobody listens nothing does.
 */
export class EventFeed {
  readonly #shaper: Shaper
  readonly #settings: FeedSettings
  readonly #audience: Audience
  readonly #jobs: JobEvents
  readonly #rules: RuleNews
  readonly #flow: FlowLog
  readonly #sources: readonly Source[]
  #timers: NodeJS.Timeout[] = []

  constructor(shaper: Shaper, settings: FeedSettings) {
    const { snapshotMs } = settings
    this.#shaper = shaper
    this.#settings = settings
    const audience = new Audience(() => this.#arrange())
    this.#flow = new FlowLog(shaper, snapshotMs)
    if (settings.dashboard !== undefined) this.#flow.start()
    this.#audience = audience
    this.#jobs = new JobEvents(shaper, audience)
    this.#rules = new RuleNews(shaper, audience)
    this.#sources = [
      this.#jobs,
      this.#rules,
      new SharedView(audience, {
        type: 'snapshot',
        everyMs: snapshotMs,
        nameOf: ({ prefixes }) => prefixes.join('\n'),
        look: (groups) => takeSnapshots(shaper, groups),
      }),
      // By itself, since a walk over many buckets takes its time, and the picture must go on meanwhile.
      new SharedView(audience, {
        type: 'flow',
        everyMs: snapshotMs,
        nameOf: ({ prefixes }) => prefixes.join('\n'),
        ...apart(async ({ prefixes }) => (mayTotal(prefixes) ? this.#flow.look() : undefined)),
      }),
      new SharedView(audience, {
        type: 'buckets',
        everyMs: snapshotMs,
        nameOf: ({ prefixes, buckets }) => JSON.stringify([prefixes, buckets]),
        ...apart((asked) => this.#page(asked)),
      }),
      new SharedView(audience, {
        type: 'bucket',
        everyMs: Math.min(BUCKET_MS, snapshotMs),
        nameOf: ({ key = '' }) => key,
        ...apart((asked) => this.#bucket(asked)),
      }),
    ]
  }

  get listeners(): number {
    return this.#audience.size
  }

  /**
   * The views that a newcomer gets at once, as text; those that the store cannot show for the moment come later.
   *
   * @throws what is wrong in what is asked for: Problem or InvalidOptionsError
   */
  async firstViews(asked: Asked): Promise<string> {
    const { types } = asked
    const texts = [
      types.has('buckets') ? await this.#first('buckets', () => this.#page(asked)) : '',
      types.has('bucket') ? await this.#first('bucket', () => this.#bucket(asked)) : '',
      types.has('rules') ? this.#rules.text() : '',
      types.has('flow') && mayTotal(asked.prefixes) ? await this.#first('flow', () => this.#flowSoFar()) : '',
    ]
    return texts.join('')
  }

  /** Begins with what was missed since the event with this id, as far as it is kept. */
  join(listener: Listener, lastId: string | undefined): void {
    this.#audience.join(listener)
    this.#arrange()
    if (lastId !== undefined && this.#jobs.types.some((type) => listener.types.has(type))) {
      this.#jobs.replay(listener, lastId)
    }
  }

  leave(listener: Listener): void {
    this.#audience.leave(listener)
  }

  /** Ends every stream, and forgets what was. */
  end(): void {
    this.#flow.stop()
    this.#audience.dismissAll()
    this.#jobs.forget()
  }

  /** Runs what somebody wants, and nothing else. */
  #arrange(): void {
    for (const source of this.#sources) {
      if (this.#audience.wants(source.types)) source.start()
      else source.stop()
    }
    if (this.#audience.size === 0) {
      for (const timer of this.#timers.splice(0)) clearInterval(timer)
    } else if (this.#timers.length === 0) {
      const { snapshotMs, keepAliveMs } = this.#settings
      this.#timers = [
        setInterval(() => this.#look(), snapshotMs).unref(),
        setInterval(() => this.#audience.tellAll(': here\n\n'), keepAliveMs).unref(),
      ]
    }
  }

  #look(): void {
    if (this.#settings.isDraining()) this.end()
    else this.#rules.look()
  }

  async #first(type: 'buckets' | 'bucket' | 'flow', look: () => Promise<object>): Promise<string> {
    try {
      return eventText(type, await look())
    } catch (error) {
      if (isVelvetRopeError(error, 'backend-unavailable')) return ''
      throw error
    }
  }

  /** With the totals of the last minutes, if they are kept. */
  async #flowSoFar(): Promise<FlowEvent> {
    return { ...(await this.#flow.look()), earlier: this.#flow.kept }
  }

  async #page(asked: Asked): Promise<object> {
    const at = nowMs()
    return { at, ...(await listBuckets(this.#shaper, asked, asked.buckets)) }
  }

  async #bucket({ key = '' }: Asked): Promise<BucketEvent> {
    const at = nowMs()
    const [bucket = null, line = null, recent] = await Promise.all([
      this.#shaper.inspect(key),
      this.#shaper.line(key, { limit: MOST_JOBS }),
      this.#shaper.recent(key),
    ])
    return { at, bucket, line, recent }
  }
}

/** Totals of all tenants are not one tenant's. */
function mayTotal(prefixes: readonly string[]): boolean {
  return prefixes.length === 0
}

function nowMs(): number {
  return monotonicNow() / MILLISECOND
}
