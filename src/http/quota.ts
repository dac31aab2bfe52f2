import type { Principal } from './access.ts'
import { hasEveryRight } from './rights.ts'

/** The share of the places that only tokens of the operator may take: with `admin`, for every key. */
const RESERVE = 0.1

interface QuotaLimits {
  /** Places of all tokens together. */
  readonly most: number
  /** Places of one token, by its name. Tokens of the operator may take all. */
  readonly perToken: number
}

/** What is exhausted: the places of all tokens, or those of this one. */
export type Exhausted = 'all' | 'token'

/** Places, such as for streams, that tokens share so that none of them takes all. */
export class Quota {
  readonly #limits: QuotaLimits
  /** Without the reserve. */
  readonly #mostOfTenants: number
  readonly #byName = new Map<string, number>()
  #taken = 0
  #ofTenants = 0

  constructor(limits: QuotaLimits) {
    this.#limits = limits
    this.#mostOfTenants = limits.most - Math.floor(limits.most * RESERVE)
  }

  /** Why the token cannot have a place now; undefined if it can. */
  exhausted(principal: Principal): Exhausted | undefined {
    if (this.#taken >= this.#limits.most) return 'all'
    if (hasEveryRight(principal)) return undefined
    if ((this.#byName.get(principal.name) ?? 0) >= this.#limits.perToken) return 'token'
    return this.#ofTenants >= this.#mostOfTenants ? 'all' : undefined
  }

  take(principal: Principal): void {
    this.#count(principal, 1)
  }

  putBack(principal: Principal): void {
    this.#count(principal, -1)
  }

  #count(principal: Principal, change: 1 | -1): void {
    this.#taken += change
    if (hasEveryRight(principal)) return
    this.#ofTenants += change
    const count = (this.#byName.get(principal.name) ?? 0) + change
    if (count === 0) this.#byName.delete(principal.name)
    else this.#byName.set(principal.name, count)
  }
}
