/** An entry of at most one heap. `handle` belongs to the heap and is -1 while the entry is in none. */
export interface Due {
  handle: number
}

const ARITY = 4
const SMALLEST = 8
/** Of a heap that has never had an entry: there may be many. */
const NO_TIMES = new Float64Array(0)
const NO_PLACES = new Int32Array(0)

/**
 * A priority queue by due time whose entries can be moved and removed: an indexed heap with four children per node.
 *
 * Due times, handles and positions are parallel typed arrays: with a million entries the cost of a step is the memory
 * that it touches, so a step touches two cache lines and no entry.
 */
export class DueHeap<Entry extends Due> {
  #size = 0
  #due = NO_TIMES
  /** Handle by position. */
  #handles = NO_PLACES
  /** Position by handle. */
  #positions = NO_PLACES
  /** By handle, when it was set: entries with the same due time come in the order in which they were set. */
  #order = NO_TIMES
  #sets = 0
  /** Entry by handle. */
  #entries: (Entry | undefined)[] = []
  #free: number[] = []

  get size(): number {
    return this.#size
  }

  /** The earliest due time, or Infinity. */
  get earliest(): number {
    return this.#size === 0 ? Number.POSITIVE_INFINITY : this.#due[0]!
  }

  /** The latest due time, or -Infinity. Scans every entry. */
  get latest(): number {
    return this.#due.subarray(0, this.#size).reduce((latest, due) => Math.max(latest, due), -Infinity)
  }

  peek(): Entry | undefined {
    return this.#size === 0 ? undefined : this.#entries[this.#handles[0]!]
  }

  dueOf(entry: Entry): number {
    return this.#due[this.#positions[entry.handle]!]!
  }

  /** Adds the entry, or moves it to its new due time. */
  set(entry: Entry, due: number): void {
    if (entry.handle === -1) {
      if (this.#size === this.#due.length) this.#resize(Math.max(SMALLEST, this.#size * 2))
      entry.handle = this.#free.pop() ?? this.#entries.length
      this.#entries[entry.handle] = entry
      this.#order[entry.handle] = this.#sets++
      this.#siftUp(this.#size++, due, entry.handle)
      return
    }
    this.#order[entry.handle] = this.#sets++
    this.#place(this.#positions[entry.handle]!, due, entry.handle)
  }

  /** Removes the entry; does nothing if it is in no heap. */
  remove(entry: Entry): void {
    if (entry.handle === -1) return
    const hole = this.#positions[entry.handle]!
    this.#entries[entry.handle] = undefined
    this.#free.push(entry.handle)
    entry.handle = -1
    const last = --this.#size
    if (hole !== last) this.#place(hole, this.#due[last]!, this.#handles[last]!)
    if (last * 4 <= this.#due.length && this.#due.length > SMALLEST) this.#shrink()
  }

  /** Returns all entries, the earliest first. */
  inOrder(): Entry[] {
    const handles = [...this.#handles.subarray(0, this.#size)]
    const dueOf = (handle: number) => this.#due[this.#positions[handle]!]!
    handles.sort((a, b) => dueOf(a) - dueOf(b) || this.#order[a]! - this.#order[b]!)
    return handles.map((handle) => this.#entries[handle]!)
  }

  /** Yields entries in order, for callers that need only the first few. The heap must not change meanwhile. */
  *first(): Generator<Entry> {
    // Positions whose parents were yielded, the latest first.
    const next = this.#size === 0 ? [] : [0]
    for (let at = next.pop(); at !== undefined; at = next.pop()) {
      yield this.#entries[this.#handles[at]!]!
      const end = Math.min(at * ARITY + 1 + ARITY, this.#size)
      for (let child = at * ARITY + 1; child < end; child++) {
        const behind = next.findLastIndex((other) => this.#isEarlier(child, other))
        next.splice(behind + 1, 0, child)
      }
    }
  }

  /** Compares two positions. */
  #isEarlier(one: number, other: number): boolean {
    return this.#isBefore(this.#due[one]!, this.#handles[one]!, this.#due[other]!, this.#handles[other]!)
  }

  #place(position: number, due: number, handle: number): void {
    const parent = (position - 1) >> 2
    if (position > 0 && this.#isBefore(due, handle, this.#due[parent]!, this.#handles[parent]!))
      this.#siftUp(position, due, handle)
    else this.#siftDown(position, due, handle)
  }

  #siftUp(from: number, due: number, handle: number): void {
    const dues = this.#due
    let position = from
    while (position > 0) {
      const parent = (position - 1) >> 2
      if (!this.#isBefore(due, handle, dues[parent]!, this.#handles[parent]!)) break
      this.#write(position, dues[parent]!, this.#handles[parent]!)
      position = parent
    }
    this.#write(position, due, handle)
  }

  #siftDown(from: number, due: number, handle: number): void {
    const dues = this.#due
    const size = this.#size
    let position = from
    for (;;) {
      const first = position * ARITY + 1
      if (first >= size) break
      let child = first
      let earliest = dues[first]!
      const end = Math.min(first + ARITY, size)
      for (let sibling = first + 1; sibling < end; sibling++) {
        const siblingDue = dues[sibling]!
        if (this.#isBefore(siblingDue, this.#handles[sibling]!, earliest, this.#handles[child]!)) {
          earliest = siblingDue
          child = sibling
        }
      }
      if (!this.#isBefore(earliest, this.#handles[child]!, due, handle)) break
      this.#write(position, earliest, this.#handles[child]!)
      position = child
    }
    this.#write(position, due, handle)
  }

  #isBefore(due: number, handle: number, otherDue: number, otherHandle: number): boolean {
    return due < otherDue || (due === otherDue && this.#order[handle]! < this.#order[otherHandle]!)
  }

  #write(position: number, due: number, handle: number): void {
    this.#due[position] = due
    this.#handles[position] = handle
    this.#positions[handle] = position
  }

  #resize(length: number): void {
    this.#due = extend(new Float64Array(length), this.#due)
    this.#handles = extend(new Int32Array(length), this.#handles)
    this.#positions = extend(new Int32Array(length), this.#positions)
    this.#order = extend(new Float64Array(length), this.#order)
  }

  /** Halves the arrays when only a quarter is in use, and renumbers the handles as positions. */
  #shrink(): void {
    const length = this.#due.length / 2
    const [handles, order] = [this.#handles, this.#order]
    const entries = Array.from({ length: this.#size }, (_, position) => this.#entries[handles[position]!])
    this.#due = this.#due.slice(0, length)
    this.#handles = Int32Array.from({ length }, (_, position) => position)
    this.#positions = this.#handles.slice()
    this.#order = new Float64Array(length)
    for (const [position, entry] of entries.entries()) {
      this.#order[position] = order[handles[position]!]!
      entry!.handle = position
    }
    this.#entries = entries
    this.#free = []
  }
}

function extend<Numbers extends Float64Array | Int32Array>(target: Numbers, source: Numbers): Numbers {
  target.set(source)
  return target
}
