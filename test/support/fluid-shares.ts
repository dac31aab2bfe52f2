/** A number as a quotient of whole numbers: nothing is rounded. */
export class Fraction {
  readonly #above: bigint
  readonly #below: bigint

  constructor(above: bigint | number, below: bigint | number = 1n) {
    const [a, b] = [BigInt(above), BigInt(below)]
    const by = (b < 0n ? -1n : 1n) * greatestCommonDivisor(a, b)
    this.#above = a / by
    this.#below = b / by
  }

  plus({ above, below }: Fraction): Fraction {
    return new Fraction(this.#above * below + above * this.#below, this.#below * below)
  }

  minus({ above, below }: Fraction): Fraction {
    return new Fraction(this.#above * below - above * this.#below, this.#below * below)
  }

  times({ above, below }: Fraction): Fraction {
    return new Fraction(this.#above * above, this.#below * below)
  }

  by({ above, below }: Fraction): Fraction {
    return new Fraction(this.#above * below, this.#below * above)
  }

  isBelow({ above, below }: Fraction): boolean {
    return this.#above * below < above * this.#below
  }

  get above(): bigint {
    return this.#above
  }

  get below(): bigint {
    return this.#below
  }

  get isPositive(): boolean {
    return this.#above > 0n
  }

  /** To six places. */
  toNumber(): number {
    return Number((this.#above * 1_000_000n) / this.#below) / 1e6
  }
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  let [one, other] = [a < 0n ? -a : a, b < 0n ? -b : b]
  while (other > 0n) [one, other] = [other, one % other]
  return one || 1n
}

const NOTHING = new Fraction(0)

/**
 * What each child would have got if work could be divided at will: at any moment all that have work share one unit of it per unit of
 * time by their weights (generalized processor sharing; Parekh and Gallager 1993).
 */
export class FluidShares {
  readonly #weights: readonly Fraction[]
  readonly #waiting: Fraction[]
  readonly #served: Fraction[]
  #now = NOTHING

  /** @param weights whole numbers above 0 */
  constructor(weights: readonly number[]) {
    this.#weights = weights.map((weight) => new Fraction(weight))
    this.#waiting = weights.map(() => NOTHING)
    this.#served = weights.map(() => NOTHING)
  }

  /** A child has more work, from now on. */
  arrive(child: number, units: number): void {
    this.#waiting[child] = this.#waiting[child]!.plus(new Fraction(units))
  }

  /** What a child has got until now. */
  servedTo(child: number): number {
    return this.#served[child]!.toNumber()
  }

  /** Lets time pass until then. */
  pass(until: number): void {
    const end = new Fraction(until)
    while (this.#now.isBelow(end)) {
      const busy = this.#waiting.flatMap((waiting, child) => (waiting.isPositive ? [child] : []))
      const weights = busy.reduce((sum, child) => sum.plus(this.#weights[child]!), NOTHING)
      // Until then, or until the first of them has no more work.
      let step = end.minus(this.#now)
      for (const child of busy) {
        const lasts = this.#waiting[child]!.times(weights).by(this.#weights[child]!)
        if (lasts.isBelow(step)) step = lasts
      }
      for (const child of busy) {
        const got = step.times(this.#weights[child]!).by(weights)
        this.#served[child] = this.#served[child]!.plus(got)
        this.#waiting[child] = this.#waiting[child]!.minus(got)
      }
      this.#now = this.#now.plus(step)
    }
  }
}
