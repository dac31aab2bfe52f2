import type { Audit } from '../conformance/history.ts'
import type { JobExplanation } from '../core/explanation-view.ts'
import type { BucketView, JobView } from '../core/job.ts'
import { checkKey } from '../core/key.ts'
import type { Flow, LineView, Recent } from '../core/line-view.ts'
import { parseOptions } from '../core/options.ts'
import { type BucketPage, type BucketQueryInput, bucketQuerySchema } from '../line/bucket-query.ts'
import type { BucketTally, TallyGroup } from '../line/bucket-tally.ts'
import type { EngineViews } from '../line/engine.ts'
import { type LineOptions, peekOptionsSchema } from './options.ts'
import { checkId } from './request-reader.ts'

/**
 * What can be seen of the lines of a shaper; nothing of it changes them. On a shared line all of it may throw
 * BackendUnavailableError.
 */
export abstract class ShaperViews {
  readonly #engine: EngineViews

  /** @internal */
  constructor(engine: EngineViews) {
    this.#engine = engine
  }

  /** What is known of a job: while it lives, and among the last `keepFinished` that ended. */
  async job(id: string): Promise<JobView | undefined> {
    checkId(id)
    return this.#engine.job(id)
  }

  /** A live bucket; undefined for a key that holds nothing and could depart at once. */
  async inspect(key: string): Promise<BucketView | undefined> {
    checkKey(key)
    return this.#engine.inspect(key)
  }

  /**
   * Live buckets, filtered, sorted and page by page. One whose place in the order does not change is on one page, once,
   * whatever the others do. By `fill` a shared line has an order at hand; by the rest it looks at all of them, bit by bit.
   *
   * @throws InvalidOptionsError
   */
  async buckets(query: BucketQueryInput = {}): Promise<BucketPage> {
    return this.#engine.buckets(parseOptions(bucketQuerySchema, query, 'buckets'))
  }

  /**
   * Sums over the live buckets: all that there are, for each group those keys and what is below them, or every key where
   * it names none. Light, also for a million; one that moves while they are looked at may be counted twice.
   */
  async tally(groups: readonly TallyGroup[] = [[]]): Promise<BucketTally[]> {
    return this.#engine.tally(groups)
  }

  /**
   * All live buckets, about 200 at a time and in no order, for counting over them: no page takes long, however many
   * there are. Buckets come and go meanwhile: one that lives throughout is seen, and one may be seen twice.
   */
  survey(): AsyncIterable<readonly BucketView[]> {
    return this.#engine.survey()
  }

  /** Jobs by state, recounted: `admitted = waiting + handed + running + retrying + ended`. */
  async audit(): Promise<Audit> {
    return this.#engine.audit()
  }

  /**
   * Why a job is not running: what holds it and until when, who is before it, which rule governs, when it will depart as
   * far as is known, and all of that in one sentence. Undefined for a job that is unknown. @throws InvalidOptionsError
   */
  async explain(id: string): Promise<JobExplanation | undefined> {
    checkId(id)
    return this.#engine.insight.explain(id)
  }

  /** Who stands in the line of a live bucket, the first first. @throws InvalidKeyError or InvalidOptionsError */
  async line(key: string, input: LineOptions = {}): Promise<LineView | undefined> {
    checkKey(key)
    return this.#engine.insight.line(key, parseOptions(peekOptionsSchema, input, 'line').limit)
  }

  /** How many were admitted, have departed and have ended since the line began: cheap, so ask as often as you like. */
  async flow(): Promise<Flow> {
    return this.#engine.insight.flow()
  }

  /**
   * The last verdicts and departures of a bucket, on a shared line those of all processes. They are gathered from the
   * first call on, and for 30 s after the last one; of at most 100 buckets at a time (on a shared line, in each shard),
   * those that were asked for last. @throws InvalidKeyError
   */
  async recent(key: string): Promise<Recent> {
    checkKey(key)
    return this.#engine.insight.recent(key)
  }
}
