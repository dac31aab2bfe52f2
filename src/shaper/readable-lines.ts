import type { Audit } from '../conformance/history.ts'
import type { BucketView } from '../core/bucket-view.ts'
import type { JobExplanation } from '../core/explanation-view.ts'
import type { FamilyView } from '../core/family-view.ts'
import type { JobView } from '../core/job.ts'
import { checkKey, isTotal, type TotalPath } from '../core/key.ts'
import type { Flow, LineView, Recent } from '../core/line-view.ts'
import type { BucketPage, BucketQueryInput, BucketTally, TallyGroup } from '../line/bucket-query.ts'
import type { LineViews } from '../line/engine.ts'
import type { FamilyPage, FamilyQueryInput } from '../line/family-query.ts'
import type { FindOptions, LineOptions } from './options.ts'
import * as requests from './request-reader.ts'

/** What a shaper answers about its lines and does not change. Arguments are checked here; the views of the engine read. */
export abstract class ReadableLines {
  readonly #views: LineViews

  constructor(views: LineViews) {
    this.#views = views
  }

  /**
   * Returns what is known of a job: while it lives, and while it is remembered (`keepFinished`). Each first segment of keys has ids of
   * its own: where several use one id, `{ key }` says which is meant.
   */
  async job(id: string, input: FindOptions = {}): Promise<JobView | undefined> {
    return this.#views.job(id, undefined, requests.readFind(id, input))
  }

  /** Explains why a job is not running: what holds it, until when, which jobs are ahead, and when it will depart. */
  async explain(id: string, input: FindOptions = {}): Promise<JobExplanation | undefined> {
    return this.#views.explain(id, undefined, requests.readFind(id, input))
  }

  /** Returns a live total, by how the keys of its family begin; undefined where nothing lives below it, and it could start at once. */
  inspect(path: TotalPath): Promise<FamilyView | undefined>
  /** Returns a live bucket; undefined for a key that holds nothing and could depart at once. */
  inspect(key: string): Promise<BucketView | undefined>
  async inspect(name: string): Promise<BucketView | FamilyView | undefined> {
    checkKey(name)
    return isTotal(name) ? this.#views.family(name) : this.#views.inspect(name)
  }

  /** Lists the jobs in the line of a live bucket, in the order of departure. */
  async line(key: string, input: LineOptions = {}): Promise<LineView | undefined> {
    return this.#views.line(key, requests.readLineLimit(key, input))
  }

  /** Lists live buckets: filtered, sorted and in pages. One that keeps its place in the order is on exactly one page. */
  async buckets(query: BucketQueryInput = {}): Promise<BucketPage> {
    return this.#views.buckets(requests.readBucketQuery(query))
  }

  /** Lists live totals: filtered, sorted and in pages, as `buckets` does. What is below one: `buckets({ under: 'stripe' })`. */
  async families(query: FamilyQueryInput = {}): Promise<FamilyPage> {
    return this.#views.families(requests.readFamilyQuery(query))
  }

  /** Sums over live buckets, for each group of keys and the keys below them. One that moves may count twice. */
  async tally(groups: readonly TallyGroup[] = [[]]): Promise<BucketTally[]> {
    return this.#views.tally(requests.readGroups(groups))
  }

  /** Iterates over all live buckets in no order, 100 to 200 at a time. One that lives throughout may be seen twice. */
  survey(): AsyncIterable<readonly BucketView[]> {
    return this.#views.survey()
  }

  /** Iterates over all live totals as `survey` does over buckets. */
  surveyFamilies(): AsyncIterable<readonly FamilyView[]> {
    return this.#views.surveyFamilies()
  }

  /**
   * Recounts jobs by state: `admitted = waiting + handed + running + retrying + ended`. Exact while the line rests, and where few
   * buckets live: 2,000 in one process, about 200 in each shard on Redis. Beyond that it pauses, and counts while the line moves.
   */
  async audit(): Promise<Audit> {
    return this.#views.audit()
  }

  /** Returns how many jobs were admitted, departed and ended since the line began: cheap enough to poll. */
  async flow(): Promise<Flow> {
    return this.#views.flow()
  }

  /** Returns the last verdicts and departures of a bucket, collected from the first call until 30 s after the last. */
  async recent(key: string): Promise<Recent> {
    checkKey(key)
    return this.#views.recent(key)
  }
}
