import { type Before, type Counted, LineCounts } from './line-counts.ts'

/** An entry of a line; `place` belongs to the line. */
export interface LineEntry extends Counted {
  place: number
}

const SMALLEST = 4
/** A ring of up to so many places is looked through; in a longer one the entries are counted by blocks of places. */
const LOOKED_THROUGH = 256
const BLOCK_BITS = 6
const BLOCK = 2 ** BLOCK_BITS

/**
 * A first-in-first-out line in a ring buffer: joining, stepping out at the front and leaving from the middle take
 * constant time. An entry that leaves from the middle leaves a gap, which is closed when it gets to the front or the back, or
 * when the ring is full of gaps. What stands before an entry is known without looking at all of it.
 */
export class Line<Entry extends LineEntry> {
  #ring: (Entry | undefined)[] = new Array(SMALLEST)
  /** Places count up for ever; the ring index is the place modulo the ring's length, a power of two. */
  #front = 0
  #back = 0
  #size = 0
  #counts: LineCounts | undefined = undefined

  get size(): number {
    return this.#size
  }

  join(entry: Entry): void {
    if (this.#back - this.#front === this.#ring.length) this.#makeRoom()
    this.#put(entry)
  }

  first(): Entry | undefined {
    return this.#ring[this.#front & (this.#ring.length - 1)]
  }

  last(): Entry | undefined {
    return this.#ring[(this.#back - 1) & (this.#ring.length - 1)]
  }

  /** Takes out the first. */
  next(): Entry | undefined {
    const entry = this.first()
    if (entry !== undefined) this.leave(entry)
    return entry
  }

  /** The entry must be in this line. */
  leave(entry: Entry): void {
    const { place } = entry
    const index = place & (this.#ring.length - 1)
    this.#ring[index] = undefined
    this.#size--
    this.#counts?.count(index >> BLOCK_BITS, entry, -1)
    if (this.#size === 0) this.#front = this.#back
    else if (place === this.#front) this.#closeFront()
    else if (place === this.#back - 1) this.#closeBack()
  }

  /** What stands before the entry, which must be in this line. */
  before({ place }: Entry): Before {
    if (this.#counts === undefined) return this.#between(this.#front, place)
    const mask = this.#ring.length - 1
    const [front, index] = [this.#front & mask, place & mask]
    const [outside, inside] = [
      this.#inRingBefore(front, this.#counts),
      this.#inRingBefore(index, this.#counts),
    ]
    // Where the line goes round the end of the ring, its second part begins at the start of the ring.
    const { jobs, units, turns } = index < front ? this.#counts.total : NOTHING
    return {
      jobs: inside.jobs - outside.jobs + jobs,
      units: inside.units - outside.units + units,
      turns: inside.turns - outside.turns + turns,
    }
  }

  /** From first to last. */
  *[Symbol.iterator](): Generator<Entry> {
    for (let place = this.#front; place < this.#back; ) {
      const entry = this.#ring[place & (this.#ring.length - 1)]
      if (entry !== undefined) yield entry
      place += entry === undefined ? this.#gapAt(place) : 1
    }
  }

  #put(entry: Entry): void {
    entry.place = this.#back
    const index = this.#back++ & (this.#ring.length - 1)
    this.#ring[index] = entry
    this.#size++
    this.#counts?.count(index >> BLOCK_BITS, entry, 1)
  }

  /** What stands in the ring before an index, by blocks as far as they reach. */
  #inRingBefore(index: number, counts: LineCounts): Before {
    const block = index >> BLOCK_BITS
    const whole = counts.before(block)
    const rest = this.#between(block << BLOCK_BITS, index)
    return {
      jobs: whole.jobs + rest.jobs,
      units: whole.units + rest.units,
      turns: whole.turns + rest.turns,
    }
  }

  #between(from: number, to: number): Before {
    const mask = this.#ring.length - 1
    let [jobs, units, turns] = [0, 0, 0]
    for (let place = from; place < to; place++) {
      const entry = this.#ring[place & mask]
      if (entry === undefined) continue
      jobs++
      units += entry.cost
      if (entry.isTurn) turns++
    }
    return { jobs, units, turns }
  }

  /** How many places from an empty one on are known to be empty. */
  #gapAt(place: number): number {
    if (this.#counts === undefined || place % BLOCK !== 0) return 1
    const block = (place & (this.#ring.length - 1)) >> BLOCK_BITS
    return Math.max(1, this.#counts.emptyFrom(block) * BLOCK)
  }

  /** An entry is left. */
  #closeFront(): void {
    const mask = this.#ring.length - 1
    do this.#front += this.#gapAt(this.#front)
    while (this.#ring[this.#front & mask] === undefined)
  }

  /** An entry is left. */
  #closeBack(): void {
    const mask = this.#ring.length - 1
    do this.#back--
    while (this.#ring[(this.#back - 1) & mask] === undefined)
  }

  #makeRoom(): void {
    const entries = [...this]
    const isMostlyGaps = entries.length <= this.#ring.length / 2
    const length = isMostlyGaps ? this.#ring.length : this.#ring.length * 2
    this.#ring = new Array(length)
    this.#counts = length > LOOKED_THROUGH ? new LineCounts(length >> BLOCK_BITS) : undefined
    this.#front = 0
    this.#back = 0
    this.#size = 0
    for (const entry of entries) this.#put(entry)
  }
}

const NOTHING: Before = { jobs: 0, units: 0, turns: 0 }
