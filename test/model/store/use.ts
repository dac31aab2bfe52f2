import type { ModelQuota, Setup } from '../setup.ts'
import { type Cells, cellsOf, recordType } from './cells.ts'
import type { Ends } from './times.ts'

/** Entries of one quota: more than start in a window of any setup. */
const ROOM = 12

const HEAD = recordType(['lostAt', 'clock'])

/** What counts in one quota, by when it ends to count: the fields `ends` and `used` of scripts/lib/usage.lua. */
export class QuotaUse {
  readonly #cells: Cells
  readonly #base: number
  readonly #ends: Ends

  constructor(cells: Cells, base: number, ends: Ends) {
    this.#cells = cells
    this.#base = base
    this.#ends = ends
  }

  get times(): number[] {
    return Array.from({ length: ROOM }, (_, index) => this.#base + index)
  }

  get count(): number {
    let count = 0
    while (count < ROOM && this.#cells[this.#base + ROOM + count] !== 0) count++
    return count
  }

  end(index: number): number {
    return this.#cells[this.#base + index]!
  }

  used(index: number): number {
    return this.#cells[this.#base + ROOM + index]!
  }

  entries(): [number, number][] {
    return Array.from({ length: this.count }, (_, index) => [this.end(index), this.used(index)])
  }

  set(entries: readonly (readonly [number, number])[]): void {
    if (entries.length > ROOM) throw new Error(`more than ${ROOM} entries in one quota`)
    for (let index = 0; index < ROOM; index++) {
      const [end, used] = entries[index] ?? [this.#ends.never, 0]
      this.#cells[this.#base + index] = end
      this.#cells[this.#base + ROOM + index] = used
    }
  }

  /** Forgets what counts no more. */
  drop(now = 0): void {
    if (this.count > 0 && this.end(0) <= now) this.set(this.entries().filter(([end]) => end > now))
  }
}

/** What counts in the quotas of a bucket. */
export class Use {
  static sizeFor({ limits }: Setup): number {
    const quotas = mostQuotas(limits)
    return quotas === 0 ? 0 : HEAD.size + 2 * ROOM * quotas
  }

  readonly quotas: readonly QuotaUse[]
  /** Undefined: no limit has a quota. */
  readonly head: ReturnType<typeof HEAD.over> | undefined
  readonly times: readonly number[]
  readonly pasts: readonly number[]
  readonly #ends: Ends
  /** Sub-windows of all sizes begin anew after this time. */
  readonly #cycle: number

  constructor(cells: Cells, base: number, { limits, durations }: Setup, ends: Ends) {
    this.#ends = ends
    this.quotas = Array.from(
      { length: mostQuotas(limits) },
      (_, index) => new QuotaUse(cells, base + HEAD.size + index * 2 * ROOM, ends),
    )
    this.head = this.quotas.length > 0 ? HEAD.over(cells, base) : undefined
    this.pasts = this.head === undefined ? [] : cellsOf(this.head, ['lostAt'])
    this.times = [...this.pasts, ...this.quotas.flatMap(({ times }) => times)]
    const sizes = limits.flatMap(({ quotas = [] }) =>
      quotas.map((part) => subWindowOf(part, durations.moment)),
    )
    this.#cycle = sizes.reduce((product, size) => product * size, 1)
  }

  clear(): void {
    const { never } = this.#ends
    if (this.head === undefined) return
    Object.assign(this.head, { lostAt: never })
    for (const quota of this.quotas) quota.set([])
  }

  /** Time passes: sub-windows begin at fixed times, of which only the place in the cycle matters. */
  shift(by: number): void {
    if (this.head !== undefined) {
      this.head.clock = (((this.head.clock + by) % this.#cycle) + this.#cycle) % this.#cycle
    }
  }
}

/** A window is counted in 60 parts, each at least the smallest time there is. */
export function subWindowOf({ window }: ModelQuota, moment: number): number {
  return Math.ceil(window / 60 / moment) * moment
}

function mostQuotas(limits: Setup['limits']): number {
  return Math.max(...limits.map(({ quotas = [] }) => quotas.length))
}
