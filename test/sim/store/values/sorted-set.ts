const OVERHEAD = 40

export interface Entry {
  readonly member: string
  readonly score: number
}

/** Members in the order of their scores, then of their bytes: a sorted array with binary search, and a map. */
export class SortedSetValue {
  readonly type = 'zset'
  bytes = 0
  readonly #entries: Entry[] = []
  readonly #byMember = new Map<string, Entry>()

  get size(): number {
    return this.#entries.length
  }

  score(member: string): number | undefined {
    return this.#byMember.get(member)?.score
  }

  at(index: number): Entry | undefined {
    return this.#entries[index]
  }

  get entries(): readonly Entry[] {
    return this.#entries
  }

  /** Its place from the lowest score, or -1. */
  rank(member: string): number {
    const entry = this.#byMember.get(member)
    return entry === undefined ? -1 : this.#place(entry.score, member)
  }

  set(member: string, score: number): void {
    const before = this.#byMember.get(member)
    if (before !== undefined) {
      if (before.score === score) return
      this.#entries.splice(this.#place(before.score, member), 1)
    } else this.bytes += OVERHEAD + member.length
    const entry = { member, score }
    this.#byMember.set(member, entry)
    const last = this.#entries[this.#entries.length - 1]
    if (last === undefined || isBefore(last, score, member)) this.#entries.push(entry)
    else this.#entries.splice(this.#place(score, member), 0, entry)
  }

  delete(member: string): boolean {
    const entry = this.#byMember.get(member)
    if (entry === undefined) return false
    this.#byMember.delete(member)
    this.#entries.splice(this.#place(entry.score, member), 1)
    this.bytes -= OVERHEAD + member.length
    return true
  }

  /** Removes a range of places. */
  cut(start: number, end: number): Entry[] {
    const removed = this.#entries.splice(start, end - start)
    for (const { member } of removed) {
      this.#byMember.delete(member)
      this.bytes -= OVERHEAD + member.length
    }
    return removed
  }

  /** How many entries come before the first that is not before. */
  countWhile(isBeforeRange: (entry: Entry) => boolean): number {
    let low = 0
    let high = this.#entries.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (isBeforeRange(this.#entries[middle]!)) low = middle + 1
      else high = middle
    }
    return low
  }

  #place(score: number, member: string): number {
    let low = 0
    let high = this.#entries.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (isBefore(this.#entries[middle]!, score, member)) low = middle + 1
      else high = middle
    }
    return low
  }

  copy(): SortedSetValue {
    const copy = new SortedSetValue()
    for (const entry of this.#entries) {
      copy.#entries.push(entry)
      copy.#byMember.set(entry.member, entry)
    }
    copy.bytes = this.bytes
    return copy
  }
}

function isBefore(entry: Entry, score: number, member: string): boolean {
  return entry.score < score || (entry.score === score && entry.member < member)
}
