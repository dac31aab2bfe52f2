import type { Socket } from 'node:net'

/** So many bytes of a chunk get a segment each; the rest of it follows as one, or large replies would take minutes. */
const MOST_SEGMENTS = 512

/** One direction of a connection: bytes arrive in order, however the delay changes meanwhile. */
export class Lane {
  readonly #to: Socket
  readonly #waiting: { readonly due: number; readonly bytes: Buffer; readonly inBytes: boolean }[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(to: Socket) {
    this.#to = to
  }

  carry(bytes: Buffer, delayMs: number, inBytes = false): void {
    if (delayMs === 0 && this.#waiting.length === 0) {
      this.#write(bytes, inBytes)
      return
    }
    const due = Math.max(performance.now() + delayMs, this.#waiting.at(-1)?.due ?? 0)
    this.#waiting.push({ due, bytes, inBytes })
    this.#timer ??= setTimeout(() => this.#deliver(), delayMs)
  }

  #deliver(): void {
    this.#timer = undefined
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const left = first.due - performance.now()
      if (left > 0) {
        this.#timer = setTimeout(() => this.#deliver(), Math.ceil(left))
        return
      }
      this.#waiting.shift()
      this.#write(first.bytes, first.inBytes)
    }
  }

  #write(bytes: Buffer, inBytes: boolean): void {
    if (!this.#to.writable) return
    const alone = inBytes ? Math.min(bytes.length, MOST_SEGMENTS) : 0
    for (let at = 0; at < alone; at++) this.#to.write(bytes.subarray(at, at + 1))
    if (alone < bytes.length) this.#to.write(bytes.subarray(alone))
  }
}
