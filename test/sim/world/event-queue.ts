/** Something that happens at a time; those of the same time happen in the order of `tie`, then of `order`. */
export interface QueuedEvent {
  at: number
  tie: number
  order: number
  isCancelled: boolean
}

/** A heap of events: the earliest first. */
export class EventQueue<Event extends QueuedEvent> {
  readonly #heap: Event[] = []
  #order = 0

  get size(): number {
    return this.#heap.length
  }

  push(event: Event): void {
    event.order = this.#order++
    const heap = this.#heap
    let at = heap.length
    heap.push(event)
    while (at > 0) {
      const parent = (at - 1) >>> 1
      if (!isBefore(event, heap[parent]!)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = event
  }

  /** Takes the first event that was not cancelled. */
  pop(): Event | undefined {
    for (;;) {
      const first = this.#take()
      if (first === undefined || !first.isCancelled) return first
    }
  }

  clear(): void {
    this.#heap.length = 0
  }

  #take(): Event | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1
      if (!isBefore(heap[child]!, last)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
    return first
  }
}

function isBefore(a: QueuedEvent, b: QueuedEvent): boolean {
  if (a.at !== b.at) return a.at < b.at
  if (a.tie !== b.tie) return a.tie < b.tie
  return a.order < b.order
}
