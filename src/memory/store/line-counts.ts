import { Sums } from './sums.ts'

/** What a job adds to what stands before another. */
export interface Counted {
  readonly cost: number
  readonly isTurn?: true
}

/** What stands before an entry of a line: how many entries, their cost units, and how many of them are turns. */
export interface Before {
  readonly jobs: number
  readonly units: number
  readonly turns: number
}

/** What stands in each block of a long line. Most jobs cost 1 and are no turns: only the others are counted besides. */
export class LineCounts {
  readonly #blocks: number
  readonly #jobs: Sums
  /** The units that jobs cost beyond one each. */
  #extra: Sums | undefined = undefined
  #turns: Sums | undefined = undefined

  /** @param blocks a power of two */
  constructor(blocks: number) {
    this.#blocks = blocks
    this.#jobs = new Sums(blocks)
  }

  count(block: number, { cost, isTurn }: Counted, sign: 1 | -1): void {
    this.#jobs.add(block, sign)
    if (cost !== 1) {
      this.#extra ??= new Sums(this.#blocks)
      this.#extra.add(block, sign * (cost - 1))
    }
    if (isTurn) {
      this.#turns ??= new Sums(this.#blocks)
      this.#turns.add(block, sign)
    }
  }

  /** What stands in the blocks before this one. */
  before(block: number): Before {
    const jobs = this.#jobs.before(block)
    return {
      jobs,
      units: jobs + (this.#extra?.before(block) ?? 0),
      turns: this.#turns?.before(block) ?? 0,
    }
  }

  get total(): Before {
    const jobs = this.#jobs.total
    return { jobs, units: jobs + (this.#extra?.total ?? 0), turns: this.#turns?.total ?? 0 }
  }

  /** How many blocks from this one on are empty, at least. */
  emptyFrom(block: number): number {
    return this.#jobs.zerosFrom(block)
  }
}
