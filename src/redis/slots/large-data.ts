import type { Semaphore } from '../../core/semaphore.ts'
import type { GateEntry } from './gate-entry.ts'
import type { ShardCalls } from './shard-calls.ts'

/** The outcome of a fetch; `failed`: the store did not answer. */
export type Fetched = 'here' | 'stale' | 'foreign' | 'failed'

export interface LargeDataPorts {
  readonly calls: Pick<ShardCalls, 'fetch'>
  /** Bounds the bytes that are held at the gate until their jobs start, and those on the way: other answers wait behind them. */
  readonly held: Semaphore<number>
  readonly underWay: Semaphore<number>
}

/**
 * The data of one job at the gate, where they are too large to travel with its slot. They are fetched and parsed before a slot
 * is reserved, since nothing slow may stand between the slot and the start, and dropped again when the job has to wait for
 * others.
 */
export class LargeData {
  readonly #ports: LargeDataPorts
  readonly #entry: GateEntry
  #value: { readonly value: unknown } | undefined
  #held = 0

  constructor(ports: LargeDataPorts, entry: GateEntry) {
    this.#ports = ports
    this.#entry = entry
  }

  /** The parsed data; undefined until they were fetched. */
  get read(): { readonly value: unknown } | undefined {
    return this.#value
  }

  /** Waits for room first; undefined when the entry was decided meanwhile. @throws SyntaxError: they are not JSON */
  async fetch(bytes: number): Promise<Fetched | undefined> {
    const { held, underWay } = this.#ports
    if (!(await this.#take(held, bytes))) return undefined
    this.#held = bytes
    if (!(await this.#take(underWay, bytes))) return undefined
    try {
      return await this.#call(bytes)
    } finally {
      underWay.release(bytes)
    }
  }

  putBack(): void {
    this.#value = undefined
    if (this.#held > 0) this.#ports.held.release(this.#held)
    this.#held = 0
  }

  async #call(bytes: number): Promise<Fetched> {
    const { shard, id, epoch } = this.#entry.job
    const answer = await this.#ports.calls.fetch(shard, { id, epoch, bytes }).catch(() => undefined)
    if (answer?.kind !== 'yes') return answer?.kind ?? 'failed'
    this.#value = { value: JSON.parse(answer.data) }
    return 'here'
  }

  /** False: the entry was decided first. */
  async #take(room: Semaphore<number>, bytes: number): Promise<boolean> {
    if (room.tryTake(bytes)) return true
    let isTaken = false
    await this.#entry.wait((onSignal) =>
      room.take(bytes, () => {
        isTaken = true
        onSignal()
      }),
    )
    return isTaken
  }
}
