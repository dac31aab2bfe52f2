import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FluidShares } from '../../support/fluid-shares.ts'
import { LineOfChild, SharedLimit } from '../../support/shared-limit.ts'

const MOST_COST = 6
const child = fc.record({
  weight: fc.integer({ min: 1, max: 5 }),
  mostCost: fc.integer({ min: 1, max: MOST_COST }),
  interval: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 20 })),
})
type Child = { readonly weight: number; readonly mostCost: number; readonly interval: number }
const arrival = fc.record({
  after: fc.nat(6),
  of: fc.nat(),
  costs: fc.array(fc.nat(), { minLength: 1, maxLength: 8 }),
})
const family = fc.record({
  children: fc.array(child, { minLength: 1, maxLength: 7 }),
  arrivals: fc.array(arrival, { minLength: 1, maxLength: 60 }),
})

/** Lets the arrivals come to their children, and everything depart. */
function play(
  lines: readonly LineOfChild[],
  children: readonly Child[],
  arrivals: readonly (typeof arrival extends fc.Arbitrary<infer Arrival> ? Arrival : never)[],
  each: { came(child: number, cost: number): void; atEach(limit: SharedLimit): void },
): void {
  const limit = new SharedLimit()
  const wait = (until: number) => {
    for (; limit.now < until; limit.now++) each.atEach(limit)
  }
  for (const { after, of, costs } of arrivals) {
    wait(limit.now + after)
    const index = of % children.length
    const some = costs.map((cost) => 1 + (cost % children[index]!.mostCost))
    for (const cost of some) each.came(index, cost)
    limit.enqueue(lines[index]!, ...some)
  }
  while (lines.some(({ jobs }) => jobs.length > 0)) wait(limit.now + 1)
}

const largestOf = (children: readonly Child[]) =>
  Math.max(...children.map(({ weight, mostCost }) => mostCost / weight))

test('while two children can go, neither gets ahead of the other', () => {
  fc.assert(
    fc.property(family, ({ children, arrivals }) => {
      const lines = children.map((one) => new LineOfChild(one))
      const largest = largestOf(children)
      // By pair, what one has got more than the other since any moment from which on both could go.
      const ahead = lines.map(() => lines.map(() => 0))
      play(lines, children, arrivals, {
        came: () => {},
        atEach(limit) {
          limit.wake()
          const could = lines.map(({ standing }) => standing === 'ready')
          const departed = limit.departOne()
          if (departed === undefined) return
          const { cost } = departed.departures.at(-1)!
          for (const [one, line] of lines.entries()) {
            for (const [other, beside] of lines.entries()) {
              const more =
                line === departed ? cost / line.weight : beside === departed ? -cost / beside.weight : 0
              ahead[one]![other] =
                could[one] && could[other] && one !== other ? Math.max(0, ahead[one]![other]! + more) : 0
              const own = children[one]!.mostCost / line.weight + children[other]!.mostCost / beside.weight
              expect(ahead[one]![other]).toBeLessThanOrEqual(own + largest + 1e-9)
            }
          }
        },
      })
    }),
  )
})

test('nobody is further from its fluid share than the largest use of the family and its own', () => {
  fc.assert(
    fc.property(family, ({ children, arrivals }) => {
      const paceless = children.map(({ weight, mostCost }) => ({ weight, mostCost, interval: 0 }))
      const lines = paceless.map((one) => new LineOfChild(one))
      const fluid = new FluidShares(paceless.map(({ weight }) => weight))
      const largest = largestOf(paceless)
      let busyUntil = 0
      play(lines, paceless, arrivals, {
        came: (index, cost) => fluid.arrive(index, cost),
        atEach(limit) {
          const departed = limit.departOne()
          if (departed !== undefined) busyUntil = limit.now + departed.departures.at(-1)!.cost
          fluid.pass(limit.now + 1)
          // What departed counts at once here and over its time there.
          if (busyUntil > limit.now + 1) return
          for (const [index, { served, weight }] of lines.entries()) {
            const off = Math.abs(fluid.servedTo(index) - served)
            expect(off).toBeLessThanOrEqual(weight * largest + paceless[index]!.mostCost + 1e-5)
          }
        },
      })
    }),
  )
})
