import type { ModelQuota, Setup } from '../setup.ts'
import { type Cells, cellsOf, type Fields, recordType } from './cells.ts'
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

/** What tells quotas apart: what they count, and their window. */
type Window = Pick<ModelQuota, 'each' | 'window'>

/** What counts in the quotas of a bucket: those of its limit, and those that are remembered. */
export class Use {
  static sizeFor({ limits }: Pick<Setup, 'limits'>): number {
    const windows = windowsOf(limits).length
    if (windows === 0) return 0
    return HEAD.size + 2 * ROOM * windows + (mayReplace(limits) ? windows + 1 : 0)
  }

  /** One for each window of any limit. */
  readonly quotas: readonly QuotaUse[]
  /** When each is forgotten that is remembered, otherwise never; and what a job counts in tokens that does not say. */
  readonly past: Fields<string> | undefined
  /** Undefined: no limit has a quota. */
  readonly head: ReturnType<typeof HEAD.over> | undefined
  readonly #windows: readonly Window[]
  readonly times: readonly number[]
  readonly pasts: readonly number[]
  readonly #ends: Ends
  /** Sub-windows of all sizes begin anew after this time. */
  readonly #cycle: number

  constructor(
    cells: Cells,
    base: number,
    { limits, durations }: Pick<Setup, 'limits' | 'durations'>,
    ends: Ends,
  ) {
    this.#ends = ends
    this.#windows = windowsOf(limits)
    this.quotas = this.#windows.map(
      (_, index) => new QuotaUse(cells, base + HEAD.size + index * 2 * ROOM, ends),
    )
    const overs = this.#windows.map((_, index) => `over${index}`)
    const behind = base + HEAD.size + this.#windows.length * 2 * ROOM
    this.past = mayReplace(limits) ? recordType([...overs, 'each']).over(cells, behind) : undefined
    this.head = this.quotas.length > 0 ? HEAD.over(cells, base) : undefined
    this.pasts = this.head === undefined ? [] : cellsOf(this.head, ['lostAt'])
    const oversAt = this.past === undefined ? [] : cellsOf(this.past, overs)
    this.times = [...this.pasts, ...this.quotas.flatMap(({ times }) => times), ...oversAt]
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
    for (const index of this.quotas.keys()) this.setOver(index, never)
    if (this.past !== undefined) this.past['each'] = 0
  }

  placeOf(quota: Window): number {
    return this.#windows.findIndex((window) => isSame(window, quota))
  }

  of(quota: Window): QuotaUse {
    return this.quotas[this.placeOf(quota)]!
  }

  /** When the quota is forgotten in that place; undefined: it is not remembered. */
  overAt(place: number): number | undefined {
    const over = this.past?.[`over${place}`]
    return over === undefined || over === this.#ends.never ? undefined : over
  }

  setOver(place: number, at: number): void {
    if (this.past !== undefined) this.past[`over${place}`] = at
  }

  /** The quotas that are remembered. */
  get remembered(): ModelQuota[] {
    const { past } = this
    if (past === undefined) return []
    return this.#windows.flatMap(({ window, each }, place): ModelQuota[] => {
      if (this.overAt(place) === undefined) return []
      const part = { amount: Number.POSITIVE_INFINITY, window }
      return [each === undefined ? part : { ...part, each: past['each']! }]
    })
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

export function isSame(one: Window, other: Window): boolean {
  return (one.each === undefined) === (other.each === undefined) && one.window === other.window
}

function windowsOf(limits: Setup['limits']): Window[] {
  const all = limits.flatMap(({ quotas = [] }) => quotas)
  return all.filter((quota, index) => all.findIndex((other) => isSame(other, quota)) === index)
}

/** Whether a limit has not all windows, so that one may be remembered. */
function mayReplace(limits: Setup['limits']): boolean {
  const { length } = windowsOf(limits)
  return limits.some(({ quotas = [] }) => quotas.length < length)
}
