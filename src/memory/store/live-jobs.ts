import { randomFillSync } from 'node:crypto'
import type { JobRecord } from './job-record.ts'

const RANDOM_BYTES = 12
const SLOT_BYTES = 4
const pool = Buffer.alloc((RANDOM_BYTES + SLOT_BYTES) * 256)
let used = pool.length

/**
 * The jobs that have not ended, by name, which is the id of most. An id that we give ends in the slot of an array where its job stands, so that
 * it is found, added and deleted without a hash table: with a million of them, that was a fifth of a departure.
 */
export class LiveJobs implements Iterable<JobRecord> {
  readonly #named = new Map<string, JobRecord>()
  #slots: (JobRecord | undefined)[] = []
  #free: number[] = []

  get size(): number {
    return this.#named.size + this.#slots.length - this.#free.length
  }

  get(name: string): JobRecord | undefined {
    const job = this.#named.get(name) ?? this.#slots[slotOf(name)]
    return job?.name === name ? job : undefined
  }

  /** Takes a slot and returns it; a job must be put there. */
  takeSlot(): number {
    return this.#free.pop() ?? this.#slots.push(undefined) - 1
  }

  /** The job has the slot that was taken for it, or a name of its own. */
  add(job: JobRecord): void {
    if (job.slot === undefined) this.#named.set(job.name, job)
    else this.#slots[job.slot] = job
  }

  delete(job: JobRecord): void {
    if (job.slot === undefined) {
      this.#named.delete(job.name)
      return
    }
    this.#slots[job.slot] = undefined
    this.#free.push(job.slot)
    // None left: nothing is kept of the size that they once had.
    if (this.#free.length === this.#slots.length) {
      this.#slots = []
      this.#free = []
    }
  }

  *[Symbol.iterator](): Generator<JobRecord> {
    yield* this.#named.values()
    for (const job of this.#slots) if (job !== undefined) yield job
  }
}

/**
 * 96 random bits and the slot, as 32 hexadecimal digits. `crypto.randomUUID` builds its text from 14 pieces that V8
 * keeps apart: 450 bytes for as long as the job lives, where this takes 48.
 */
export function idOfSlot(slot: number): string {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const from = used
  used += RANDOM_BYTES + SLOT_BYTES
  pool.writeUInt32BE(slot, used - SLOT_BYTES)
  return pool.toString('hex', from, used)
}

/** Not a number for an id that we cannot have given. */
function slotOf(id: string): number {
  return id.length === (RANDOM_BYTES + SLOT_BYTES) * 2
    ? Number.parseInt(id.slice(-SLOT_BYTES * 2), 16)
    : Number.NaN
}
