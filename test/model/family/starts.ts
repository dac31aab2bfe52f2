import { type Cells, recordType } from '../store/cells.ts'
import { shiftTimes } from '../store/times.ts'
import { quotasOf } from '../store/usage.ts'
import type { FamilyWorld } from './actors/world.ts'
import { type FamilySetup, limitsOf } from './setup.ts'
import type { Total } from './store/total.ts'

const START = recordType(['at', 'cost'])
/** Each job starts once, and with faults some more. */
const MORE = 2

/** What an onlooker knows of the starts that count in quotas of totals, by a clock that is never moved. */
export class Starts {
  static sizeFor({ totals, jobs }: FamilySetup): number {
    const counted = totals.filter((total) => quotasOf(limitsOf(total)[0]!).length > 0)
    return counted.length * (jobs.length + MORE) * START.size
  }

  readonly #world: FamilyWorld
  /** By total, those below it. */
  readonly #starts: ReadonlyMap<Total, readonly ReturnType<typeof START.over>[]>

  constructor(world: FamilyWorld, cells: Cells, base: number) {
    this.#world = world
    const counted = world.family.totals.filter(({ limit }) => quotasOf(limit).length > 0)
    const room = world.setup.jobs.length + MORE
    const ofTotal = (index: number) =>
      Array.from({ length: room }, (_, place) =>
        START.over(cells, base + (index * room + place) * START.size),
      )
    this.#starts = new Map(counted.map((total, index) => [total, ofTotal(index)]))
  }

  /** L10: with a job that starts now, no more starts in the window than a total has. */
  judge(job: number): void {
    const { setup, family } = this.#world
    const { cost } = setup.jobs[job]!
    for (const [total, starts] of this.#starts) {
      if (!family.places[this.#world.known(job).bucket]!.totals.includes(total)) continue
      for (const { window, amount } of quotasOf(total.limit)) {
        const used = starts.reduce((sum, start) => sum + (start.at > -window ? start.cost : 0), 0)
        if (used + cost > amount) this.#world.breaks('L10 quota of a total')
      }
      const free = starts.find((start) => start.cost === 0)
      if (free === undefined) throw new Error('more starts than are remembered')
      Object.assign(free, { at: 0, cost })
    }
  }

  /** A total counts no more than what has started, and its slots. Asked where no start may be taken for lost. */
  judgeCounted(): void {
    if (this.#world.setup.faults > 0) return
    for (const [total, starts] of this.#starts) {
      const below = this.#world.family.places.filter(({ totals }) => totals.includes(total))
      const granted = below.reduce((sum, { shard }) => sum + shard.bucket.grantedCost, 0)
      const started = starts.reduce((sum, { cost }) => sum + cost, 0)
      for (const part of quotasOf(total.limit)) {
        const entries = total.use.of(part).entries()
        const counted = entries.reduce((sum, [end, units]) => sum + (end > 0 ? units : 0), 0)
        if (counted > started + granted) this.#world.breaks('L10 charged for nothing')
      }
    }
  }

  elapse(by: number): void {
    for (const starts of this.#starts.values())
      for (const start of starts) if (start.cost > 0) shiftTimes(start, ['at'], by, this.#world.ends)
  }

  /** One form: the latest first, without those that count no more. */
  settleForm(): void {
    for (const [total, starts] of this.#starts) {
      const [longest] = quotasOf(total.limit).map(({ window }) => window)
      // A start counts for as long as it may have been late.
      const oldest = -longest! - total.limit.tolerance - 2
      const kept = starts
        .map(({ at, cost }) => ({ at, cost }))
        .filter(({ at, cost }) => cost > 0 && at > oldest)
      kept.sort((one, other) => other.at - one.at || other.cost - one.cost)
      for (const [place, start] of starts.entries()) Object.assign(start, kept[place] ?? { at: 0, cost: 0 })
    }
  }
}
