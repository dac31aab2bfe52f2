export interface StreamId {
  readonly ms: bigint
  readonly seq: bigint
}

export interface StreamEntry {
  readonly id: StreamId
  readonly fields: readonly string[]
}

/** Entries that Redis keeps together, and trims together where a limit is only about right. */
interface Node {
  count: number
  bytes: number
  readonly first: StreamId
}

const NODE_ENTRIES = 100
const NODE_BYTES = 4_096
const OVERHEAD = 24

export class StreamValue {
  readonly type = 'stream'
  bytes = 0
  lastId: StreamId = { ms: 0n, seq: 0n }
  entriesAdded = 0
  maxDeleted: StreamId = { ms: 0n, seq: 0n }
  #entries: StreamEntry[] = []
  #nodes: Node[] = []

  get size(): number {
    return this.#entries.length
  }

  get entries(): readonly StreamEntry[] {
    return this.#entries
  }

  add(id: StreamId, fields: readonly string[]): void {
    const bytes = sizeOf(fields)
    this.#entries.push({ id, fields })
    this.lastId = id
    this.entriesAdded++
    this.bytes += OVERHEAD + bytes
    const node = this.#nodes[this.#nodes.length - 1]
    if (node === undefined || node.count >= NODE_ENTRIES || node.bytes >= NODE_BYTES) {
      this.#nodes.push({ count: 1, bytes, first: id })
    } else {
      node.count++
      node.bytes += bytes
    }
  }

  /** Removes all but the newest. Where that is only about right, no part of a node. */
  trimToLength(most: number, isAbout: boolean): number {
    const over = this.#entries.length - most
    return this.#trim(over, isAbout)
  }

  trimBefore(id: StreamId, isAbout: boolean): number {
    const index = this.#entries.findIndex((entry) => compareIds(entry.id, id) >= 0)
    return this.#trim(index === -1 ? this.#entries.length : index, isAbout)
  }

  #trim(wanted: number, isAbout: boolean): number {
    let count = 0
    while (this.#nodes.length > 0 && count + this.#nodes[0]!.count <= wanted) {
      count += this.#nodes.shift()!.count
    }
    if (!isAbout && count < wanted) {
      this.#nodes[0]!.count -= wanted - count
      count = wanted
    }
    if (count <= 0) return 0
    const removed = this.#entries.splice(0, count)
    for (const { fields } of removed) this.bytes -= OVERHEAD + sizeOf(fields)
    return count
  }

  delete(id: StreamId): boolean {
    const index = this.#entries.findIndex((entry) => compareIds(entry.id, id) === 0)
    if (index === -1) return false
    const [removed] = this.#entries.splice(index, 1)
    this.bytes -= OVERHEAD + sizeOf(removed!.fields)
    if (compareIds(id, this.maxDeleted) > 0) this.maxDeleted = id
    const at = this.#nodes.findLastIndex((node) => compareIds(node.first, id) <= 0)
    const node = this.#nodes[at]!
    node.count--
    if (node.count === 0) this.#nodes.splice(at, 1)
    return true
  }

  copy(): StreamValue {
    const copy = new StreamValue()
    copy.#entries = [...this.#entries]
    copy.#nodes = this.#nodes.map((node) => ({ ...node }))
    copy.lastId = this.lastId
    copy.maxDeleted = this.maxDeleted
    copy.entriesAdded = this.entriesAdded
    copy.bytes = this.bytes
    return copy
  }
}

function sizeOf(fields: readonly string[]): number {
  return fields.reduce((sum, { length }) => sum + length + 3, 0)
}

export function compareIds(one: StreamId, other: StreamId): number {
  if (one.ms !== other.ms) return one.ms < other.ms ? -1 : 1
  if (one.seq !== other.seq) return one.seq < other.seq ? -1 : 1
  return 0
}
