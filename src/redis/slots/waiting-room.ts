import { SECOND } from '../../core/duration.ts'
import { firstSegment } from '../../core/key.ts'

/** A worker gives back so many jobs a second for which it has no handler, or twice as many as its handlers end. */
const RETURNS_PER_SECOND = 200
/** Who was given back nothing for so long is forgotten. */
const REMEMBERED = 10 * SECOND
/** So many first segments are remembered; the jobs of others stay away for a second. */
const MOST_REMEMBERED = 1_000

/** A first segment whose jobs wait for handlers. */
interface Segment {
  /** Buckets that wait. */
  waiting: number
  readonly since: number
  /** When the next job that is given back may come again. */
  next: number
  /** The second in which ends of its handlers are counted, how many there were, and how many in the second before. */
  countedFrom: number
  ends: number
  endsBefore: number
}

/**
 * Where the buckets of a worker wait for handlers. It has so many places; first segments for which there is no handler divide
 * them equally, however many buckets each has, so that the buckets of others find their way to the gate. What finds no place is
 * given back to its line, and stays away for as long as it takes the worker to give back all that is in the same situation, one
 * job after the other. So the deliveries of a segment that has no handler are few a second, however many buckets it has. Pure:
 * `now` is an argument, in microseconds.
 */
export class WaitingRoom {
  readonly #places: number
  readonly #segments = new Map<string, Segment>()
  /** Segments of which a bucket waits. */
  #waiting = 0
  #forgotAt = Number.NEGATIVE_INFINITY

  constructor(places: number) {
    this.#places = places
  }

  /** First segments that are remembered. */
  get size(): number {
    return this.#segments.size
  }

  /** False: the segment of the key has its share of the places. */
  tryEnter(key: string, now: number): boolean {
    const segment = this.#note(key, now)
    if (segment === undefined) return false
    const share = Math.max(1, Math.floor(this.#places / (this.#waiting + (segment.waiting === 0 ? 1 : 0))))
    if (segment.waiting >= share) return false
    if (segment.waiting++ === 0) this.#waiting++
    return true
  }

  /** A bucket that has entered waits no more. */
  leave(key: string): void {
    const segment = this.#segments.get(firstSegment(key))!
    if (--segment.waiting === 0) this.#waiting--
  }

  /** A handler of the key has ended. */
  ended(key: string, now: number): void {
    const segment = this.#segments.get(firstSegment(key))
    if (segment === undefined) return
    count(segment, now)
    segment.ends++
  }

  /** How long a job that is given back stays away; microseconds. */
  awayFor(key: string, now: number): number {
    const segment = this.#note(key, now)
    if (segment === undefined) return SECOND
    count(segment, now)
    const ends = Math.max(segment.ends, segment.endsBefore)
    const perSecond = Math.max(RETURNS_PER_SECOND / this.size, 2 * ends)
    // How fast handlers end is not known at first.
    const longest = Math.max(SECOND, now - segment.since)
    const away = Math.min(longest, Math.max(0, segment.next - now))
    segment.next = now + away + SECOND / perSecond
    return away
  }

  #note(key: string, now: number): Segment | undefined {
    if (now - this.#forgotAt >= SECOND) this.#forget(now)
    const name = firstSegment(key)
    const known = this.#segments.get(name)
    if (known !== undefined) return known
    if (this.size >= MOST_REMEMBERED) return undefined
    const segment = { waiting: 0, since: now, next: now, countedFrom: now, ends: 0, endsBefore: 0 }
    this.#segments.set(name, segment)
    return segment
  }

  #forget(now: number): void {
    this.#forgotAt = now
    for (const [name, { waiting, next }] of this.#segments) {
      if (waiting === 0 && now - next >= REMEMBERED) this.#segments.delete(name)
    }
  }
}

function count(segment: Segment, now: number): void {
  const passed = now - segment.countedFrom
  if (passed < SECOND) return
  segment.endsBefore = passed < 2 * SECOND ? segment.ends : 0
  segment.ends = 0
  segment.countedFrom = now
}
