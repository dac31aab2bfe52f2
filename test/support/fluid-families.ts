import { FluidShares } from './fluid-shares.ts'

interface Node {
  readonly fluid: FluidShares
  readonly children: readonly string[]
  readonly served: Map<string, number>
  /** The largest job of each child that has come so far. */
  readonly largest: Map<string, number>
  total: number
}

/** How far a child of a total is from its fluid share. */
export interface Offset {
  readonly total: string
  readonly child: string
  readonly off: number
  /** Its weight by the largest use of the family, and its own largest job. */
  readonly most: number
}

/**
 * What each child of nested totals would have got if work could be divided at will, by the paces of totals alone: whatever a total gets,
 * its children with work share by their weights. Each total counts time in the units that it got, so a child is compared with what its
 * own family got, however that was shared above it.
 */
export class FluidFamilies {
  readonly #nodes = new Map<string, Node>()
  readonly #weights: (name: string) => number

  /**
   * @param totals by path, such as `a/x/`
   * @param weights of a key or a total; whole numbers above 0
   */
  constructor(totals: readonly string[], keys: readonly string[], weights: (name: string) => number) {
    this.#weights = weights
    for (const total of totals) {
      const children = [...new Set(keys.flatMap((key) => childOf(total, key, totals) ?? []))]
      const fluid = new FluidShares(children.map(weights))
      this.#nodes.set(total, { fluid, children, served: new Map(), largest: new Map(), total: 0 })
    }
  }

  arrive(key: string, cost: number): void {
    this.#eachAbove(key, ({ fluid, children, largest }, child) => {
      fluid.arrive(children.indexOf(child), cost)
      largest.set(child, Math.max(cost, largest.get(child) ?? 0))
    })
  }

  depart(key: string, cost: number): void {
    this.#eachAbove(key, (node, child) => {
      node.served.set(child, (node.served.get(child) ?? 0) + cost)
      node.total += cost
      node.fluid.pass(node.total)
    })
  }

  offsets(): Offset[] {
    return [...this.#nodes].flatMap(([total, { fluid, children, served, largest }]) => {
      const most = Math.max(0, ...[...largest].map(([child, cost]) => cost / this.#weights(child)))
      return children.map((child, index) => ({
        total,
        child,
        off: Math.abs(fluid.servedTo(index) - (served.get(child) ?? 0)),
        most: this.#weights(child) * most + (largest.get(child) ?? 0),
      }))
    })
  }

  #eachAbove(key: string, each: (node: Node, child: string) => void): void {
    for (const [total, node] of this.#nodes) {
      const child = childOf(total, key, [...this.#nodes.keys()])
      if (child !== undefined) each(node, child)
    }
  }
}

/** Who of those right below a total a key belongs to: itself, or a total between. */
function childOf(total: string, key: string, totals: readonly string[]): string | undefined {
  const above = totals.filter((path) => `${key}/`.startsWith(path)).sort((a, b) => a.length - b.length)
  const at = above.indexOf(total)
  return at === -1 ? undefined : (above[at + 1] ?? key)
}
