import { randomFillSync } from 'node:crypto'
import type { JobRecord } from './job-record.ts'

const RANDOM_BYTES = 12
const SLOT_BYTES = 4
const pool = Buffer.alloc((RANDOM_BYTES + SLOT_BYTES) * 256)
let used = pool.length

/** Slots of a page: a power of two. */
const PAGE = 1_024

/** Slots that come and go together; it has as many as were ever taken at once. */
class Page {
  readonly jobs: (JobRecord | undefined)[] = []
  readonly free: number[] = []

  get isFull(): boolean {
    return this.free.length === 0 && this.jobs.length === PAGE
  }

  get isEmpty(): boolean {
    return this.free.length === this.jobs.length
  }
}

/**
 * The jobs that are known, from their admission until they are forgotten, by name, which is the id of most. An id that we give ends in
 * the slot where its job stands, so that it is found, added and deleted without a hash table: with a million of them, that was a fifth
 * of a departure. Slots are in pages, and a page in which no job stands any more is dropped.
 */
export class KnownJobs {
  readonly #named = new Map<string, JobRecord>()
  readonly #pages: (Page | undefined)[] = []
  /** The pages that are not full, by number; also those that were dropped. */
  readonly #roomy: number[] = []

  get(name: string): JobRecord | undefined {
    const slot = slotOf(name)
    const job = this.#named.get(name) ?? this.#pages[Math.floor(slot / PAGE)]?.jobs[slot % PAGE]
    return job?.name === name ? job : undefined
  }

  /** How many pages of slots there are. */
  get pages(): number {
    return this.#pages.reduce((count, page) => count + (page === undefined ? 0 : 1), 0)
  }

  /** Takes a slot and returns it; a job must be put there. */
  takeSlot(): number {
    if (this.#roomy.length === 0) this.#roomy.push(this.#pages.push(undefined) - 1)
    const number = this.#roomy.at(-1)!
    this.#pages[number] ??= new Page()
    const page = this.#pages[number]
    const place = page.free.pop() ?? page.jobs.push(undefined) - 1
    if (page.isFull) this.#roomy.pop()
    return number * PAGE + place
  }

  /** The job has the slot that was taken for it, or a name of its own. */
  add(job: JobRecord): void {
    const { slot } = job
    if (slot === undefined) this.#named.set(job.name, job)
    else this.#pages[Math.floor(slot / PAGE)]!.jobs[slot % PAGE] = job
  }

  delete({ slot, name }: JobRecord): void {
    if (slot === undefined) {
      this.#named.delete(name)
      return
    }
    const number = Math.floor(slot / PAGE)
    const page = this.#pages[number]!
    if (page.isFull) this.#roomy.push(number)
    page.jobs[slot % PAGE] = undefined
    page.free.push(slot % PAGE)
    if (page.isEmpty) this.#pages[number] = undefined
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
