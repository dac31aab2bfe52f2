import { spacingAfterStart } from '../../core/bucket.ts'
import { MILLISECOND } from '../../core/duration.ts'
import type { Admission } from '../../core/job.ts'
import {
  MOST_NOTES,
  MOST_WATCHED,
  type Recent,
  type RecentDeparture,
  type RecentVerdict,
  WATCHED_FOR,
} from '../../core/line-view.ts'
import type { JobRecord } from './job-record.ts'

/** The newest last. */
interface Watched {
  until: number
  readonly verdicts: RecentVerdict[]
  readonly departures: RecentDeparture[]
}

/** Recent verdicts and departures of the buckets that are watched. Has no timer: it forgets on the next call. */
export class WatchedBuckets {
  /** In the order of their last requests. */
  readonly #watched = new Map<string, Watched>()
  /** When the last watch ends. */
  #until = Number.NEGATIVE_INFINITY

  recent(key: string, now: number): Recent {
    const watched = this.#find(key, now) ?? { until: now, verdicts: [], departures: [] }
    this.#until = watched.until = now + WATCHED_FOR
    this.#watched.delete(key)
    this.#watched.set(key, watched)
    const [first] = this.#watched.keys()
    if (this.#watched.size > MOST_WATCHED) this.#watched.delete(first!)
    return { verdicts: watched.verdicts.toReversed(), departures: watched.departures.toReversed() }
  }

  noteVerdict(key: string, id: string | undefined, admission: Admission, now: number): void {
    if (this.#isAsleep(now) || (admission.accepted && admission.replayed)) return
    const watched = this.#find(key, now)
    if (watched === undefined) return
    const { accepted, waiting } = admission
    const reason = accepted ? {} : { reason: admission.reason }
    const named = accepted ? admission.id : (id ?? '')
    note(watched.verdicts, { at: now / MILLISECOND, id: named, accepted, ...reason, waiting })
  }

  /** Notes a start at `now`. Call it before the bucket takes it for its last. */
  noteStart({ id, bucket }: JobRecord, now: number): void {
    if (this.#isAsleep(now)) return
    const watched = this.#find(bucket.key, now)
    if (watched === undefined) return
    const at = now / MILLISECOND
    const gap = now - bucket.lastStart
    if (!Number.isFinite(gap)) note(watched.departures, { at, id })
    else
      note(watched.departures, {
        at,
        id,
        gapMs: gap / MILLISECOND,
        gapRatio: gap / spacingAfterStart(bucket),
      })
  }

  /** Whether no bucket is watched. */
  #isAsleep(now: number): boolean {
    if (now < this.#until) return false
    if (this.#watched.size > 0) this.#watched.clear()
    return true
  }

  #find(key: string, now: number): Watched | undefined {
    const watched = this.#watched.get(key)
    return watched !== undefined && now < watched.until ? watched : undefined
  }
}

function note<Event>(seen: Event[], event: Event): void {
  seen.push(event)
  if (seen.length > MOST_NOTES) seen.shift()
}
