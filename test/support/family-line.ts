import type { HistoryEvent } from '../../src/conformance/history.ts'
import * as buckets from '../../src/core/bucket.ts'
import type { FairChild } from '../../src/core/fair-queue.ts'
import { type LimitInput, parseLimit } from '../../src/core/limit.ts'
import { Total, type TotalledBucket, totalsAbove } from '../../src/core/total.ts'
import { departUnder, nextUnder, stand } from '../../src/core/total-departures.ts'
import { fullAbove, joinUnder, waitAtMost } from '../../src/core/total-line.ts'
import * as usages from '../../src/core/usage.ts'

interface Waiting extends usages.Counted {
  readonly id: string
}

/** A bucket below totals, with its line. */
class FamilyBucket implements TotalledBucket {
  handle = -1
  tag = 0
  standing: FairChild['standing'] = 'gone'
  weight: number
  readonly key: string
  readonly total: Total
  readonly bucket: buckets.Bucket
  readonly jobs: Waiting[] = []
  /** Since when the first of its jobs could go, but for its limits. */
  since = 0
  running = 0

  constructor(key: string, total: Total, limit: LimitInput) {
    this.key = key
    this.total = total
    this.bucket = buckets.createBucket(parseLimit(limit))
    this.weight = this.bucket.limit.weight
  }

  get frozenUntil(): number {
    return this.bucket.frozenUntil
  }

  get waiting(): number {
    return this.bucket.waiting
  }

  dueAt(): number | undefined {
    const { bucket, jobs, running } = this
    if (jobs.length === 0 || bucket.paused) return undefined
    if (running >= bucket.limit.concurrency) return Number.POSITIVE_INFINITY
    const from = buckets.nextSlot(bucket, this.since)
    if (bucket.usage === undefined) return from
    return usages.roomAt(bucket.limit, bucket.usage, usages.chargesOf(bucket.limit, jobs[0]!), from)
  }

  headAt(): usages.Counted {
    return this.jobs[0]!
  }
}

/** Families in virtual time, by the core alone, and a history of what happened. Times are microseconds. */
export class FamilyLine {
  now: number
  readonly history: HistoryEvent[] = []
  readonly buckets = new Map<string, FamilyBucket>()
  readonly #totals = new Map<string, Total>()
  readonly #limitOf: (key: string) => LimitInput
  readonly #runs: () => number
  readonly #later: { readonly at: number; act(): void }[] = []
  #ids = 0

  /**
   * @param totals by path, such as `stripe/eu/`
   * @param limitOf the limit of a key
   * @param runs how long the next attempt takes
   */
  constructor(
    totals: Readonly<Record<string, LimitInput>>,
    limitOf: (key: string) => LimitInput,
    {
      from = 1_800_000_000_000_000,
      runs = () => 0,
    }: { readonly from?: number; readonly runs?: () => number } = {},
  ) {
    this.now = from
    this.#limitOf = limitOf
    this.#runs = runs
    for (const [path, limit] of Object.entries(totals).toSorted(([a], [b]) => a.length - b.length)) {
      const parsed = parseLimit(limit)
      const parent = this.#innermost(path.slice(0, -1), path)
      this.#totals.set(path, new Total({ pattern: path, path, limit: parsed, parent }))
      this.history.push({ type: 'limit', at: this.now, key: path, limit: parsed })
    }
  }

  total(path: string): Total {
    return this.#totals.get(path)!
  }

  enqueue(key: string, ...jobs: readonly usages.Counted[]): void {
    const bucket = this.#bucket(key)
    for (const job of jobs) {
      const id = `${this.#ids++}`
      if (bucket.jobs.length === 0) bucket.since = this.now
      bucket.jobs.push({ ...job, id })
      bucket.bucket.waiting += job.cost
      joinUnder(bucket, job)
      const { cost, costs } = job
      this.history.push({
        type: 'answer',
        at: this.now,
        id,
        key,
        cost,
        costs,
        accepted: true,
        departsAt: this.now,
      })
    }
    stand(bucket, this.now)
  }

  /** The path of the total that has no room for a job of the key. */
  fullAt(key: string, cost: number): string | undefined {
    return fullAbove(this.#bucket(key), cost)?.total.path
  }

  /** How long the last job of the key waits at most, if nobody else comes. */
  waitsAtMost(key: string): number | undefined {
    const of = this.#bucket(key)
    const { bucket, waiting } = of
    const own = Math.max(0, buckets.nextSlot(bucket, this.now) - this.now) + bucket.limit.interval * waiting
    return waitAtMost(of, waiting, own, this.now)
  }

  /** Of a key or of a family. */
  freeze(name: string, until: number): void {
    const child = this.#child(name)
    buckets.freeze(child.bucket, until)
    this.history.push({ type: 'freeze', at: this.now, key: name, until })
    stand(child, this.now)
  }

  pause(name: string, isPaused: boolean): void {
    const child = this.#child(name)
    child.bucket.paused = isPaused
    this.history.push({ type: isPaused ? 'pause' : 'resume', at: this.now, key: name })
    stand(child, this.now)
  }

  /** Does something later. */
  after(duration: number, act: () => void): void {
    this.#later.push({ at: this.now + duration, act })
    this.#later.sort((a, b) => a.at - b.at)
  }

  /** Lets everything depart that is due until then, and leaves the clock there. */
  run(until: number): void {
    for (;;) {
      const [due, next] = this.#departDue()
      const [event] = this.#later
      if (due) continue
      const at = Math.min(next, event?.at ?? Number.POSITIVE_INFINITY)
      if (at > until) break
      this.now = Math.max(this.now, at)
      if (event !== undefined && event.at <= this.now) {
        this.#later.shift()
        event.act()
      }
    }
    this.now = until
  }

  /** How many units of a key, or of a family, have started. */
  startedOf(name: string): number {
    let units = 0
    for (const event of this.history) {
      if (event.type !== 'start') continue
      if (event.key === name || (name.endsWith('/') && event.key.startsWith(name))) units += event.cost
    }
    return units
  }

  #departDue(): [boolean, number] {
    let next = Number.POSITIVE_INFINITY
    for (const total of this.#totals.values()) {
      if (total.parent !== undefined) continue
      const { bucket, due } = nextUnder(total, this.now)
      if (bucket !== undefined) {
        this.#depart(bucket as FamilyBucket, due)
        return [true, this.now]
      }
      next = Math.min(next, due)
    }
    return [false, next]
  }

  #depart(of: FamilyBucket, due: number): void {
    const { bucket, key } = of
    const job = of.jobs.shift()!
    buckets.reserveDue(bucket, job.cost, due, this.now)
    buckets.depart(bucket, job.cost, this.now)
    const slots = departUnder(of, job, due, this.now)
    for (const { limit, usage } of [bucket, ...slots.map(({ total }) => total.bucket)]) {
      if (usage === undefined) continue
      usages.tidy(limit, usage, this.now)
      usages.charge(limit, usage, usages.chargesOf(limit, job), this.now)
    }
    of.running += 1
    of.since = Number.NEGATIVE_INFINITY
    const { id, cost, costs } = job
    this.history.push({ type: 'start', at: this.now, id, key, cost, costs, attempt: 1 })
    stand(of, this.now)
    this.after(this.#runs(), () => {
      of.running -= 1
      for (const total of totalsAbove(of)) total.running -= 1
      this.history.push({ type: 'end', at: this.now, id, outcome: 'completed' })
      stand(of, this.now)
    })
  }

  #bucket(key: string): FamilyBucket {
    const known = this.buckets.get(key)
    if (known !== undefined) return known
    const bucket = new FamilyBucket(key, this.#innermost(key)!, this.#limitOf(key))
    this.buckets.set(key, bucket)
    this.history.push({ type: 'limit', at: this.now, key, limit: bucket.bucket.limit })
    return bucket
  }

  #child(name: string): FamilyBucket | Total {
    return this.#totals.get(name) ?? this.#bucket(name)
  }

  #innermost(key: string, but?: string): Total | undefined {
    let innermost: Total | undefined
    for (const [path, total] of this.#totals) {
      if (path !== but && `${key}/`.startsWith(path)) innermost = total
    }
    return innermost
  }
}
