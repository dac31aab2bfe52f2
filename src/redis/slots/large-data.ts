import type { Semaphore } from '../../core/semaphore.ts'
import type { GateEntry } from './gate-entry.ts'
import type { ShardCalls } from './shard-calls.ts'

/** What came of a fetch; `failed`: the store did not answer. */
export type Fetched = 'here' | 'stale' | 'foreign' | 'failed'

export interface LargeDataPorts {
  readonly calls: Pick<ShardCalls, 'fetch'>
  /** For what is held at the gate until it starts, and for what is on its way: other answers wait behind that. */
  readonly held: Semaphore<number>
  readonly underWay: Semaphore<number>
}

/**
 * The data of one job at the gate that are too large to travel with its slot. They are fetched and read before a slot is
 * reserved, since nothing that takes time may stand between it and the start; and they are given up again when the job
 * has to wait for others.
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

  /** Undefined until they were fetched. */
  get read(): { readonly value: unknown } | undefined {
    return this.#value
  }

  /** Waits for room, too; a entry that is not open any more gets none. @throws SyntaxError: they are not JSON */
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

  /** Whether it was taken: false when the entry is decided before. */
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
