import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkHistory } from '../../../src/conformance/conformance.ts'
import { FamilyLine } from '../../support/family-line.ts'

const weight = fc.integer({ min: 1, max: 4 })
const parts = fc.constantFrom('', '', '', ', 20/second', ', 2 at once', ', 30/second, 3 at once')
const limitOf = (...rates: readonly string[]) =>
  fc
    .tuple(fc.constantFrom(...rates), parts, weight)
    .map(([rate, more, share]) => `100000, ${rate}${more}, weight ${share}`)

/** Totals that nest up to three deep, with keys at each depth; the key before a slash belongs to its total, too. */
const family = fc.record({
  outer: limitOf('10/s', '50/s', '100/s'),
  inner: fc.dictionary(fc.constantFrom('a/x/', 'a/y/', 'a/x/1/'), limitOf('5/s', '20/s', '100/s')),
  keys: fc.dictionary(
    fc.constantFrom('a', 'a/z', 'a/x', 'a/x/2', 'a/x/1', 'a/x/1/3', 'a/x/1/4', 'a/y/5', 'a/y/6', 'a/y/7'),
    limitOf('1/s', '5/s', '20/s', '200/s'),
    { minKeys: 1 },
  ),
})
const step = fc.record({
  after: fc.nat(100_000),
  which: fc.nat(),
  of: fc.nat(),
  costs: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 8 }),
  forMs: fc.nat(1_000),
})

const pick = <Item>(items: readonly Item[], which: number): Item => items[which % items.length]!

test('families of any shape keep every law, whatever comes and is frozen or paused', () => {
  fc.assert(
    fc.property(
      family,
      fc.array(step, { minLength: 1, maxLength: 60 }),
      fc.constantFrom(0, 200_000),
      ({ outer, inner, keys }, steps, runs) => {
        const totals: Record<string, string> = { 'a/': outer, ...inner }
        let taken = 0
        const line = new FamilyLine(totals, (key) => keys[key]!, {
          runs: () => (taken++ * 37_000) % (runs + 1),
        })
        const names = Object.keys(keys)
        let enqueued = 0
        for (const { after, which, of, costs, forMs } of steps) {
          line.run(line.now + after)
          const name = which % 3 === 0 ? pick(Object.keys(totals), of) : pick(names, of)
          if (which % 11 === 0) line.freeze(name, line.now + forMs * 1_000)
          else if (which % 11 === 1) {
            line.pause(name, true)
            line.after(forMs * 1_000, () => line.pause(name, false))
          } else {
            line.enqueue(pick(names, of), ...costs.map((cost) => ({ cost })))
            enqueued += costs.length
          }
        }
        line.run(line.now + 3_600_000_000)
        expect(line.history.filter(({ type }) => type === 'end')).toHaveLength(enqueued)
        expect(checkHistory(line.history)).toEqual([])
      },
    ),
    { numRuns: 200 },
  )
})

test('who waits starts no later than was said, if nobody new comes', () => {
  const weighed = (...limits: readonly string[]) =>
    fc.tuple(fc.constantFrom(...limits), weight).map(([limit, share]) => `${limit}, weight ${share}`)
  const paces = fc.record({
    outer: weighed('100000, 10/s', '100000, 100/s'),
    inner: fc.dictionary(
      fc.constantFrom('a/x/', 'a/y/', 'a/x/1/'),
      weighed('100000, 5/s', '100000, 20/s', '100000, 100/s'),
    ),
    key: weighed('1000, 1/s', '1000, 5/s', '1000, 200/s'),
  })
  const lines = fc.dictionary(
    fc.constantFrom('a', 'a/z', 'a/x', 'a/x/2', 'a/x/1', 'a/x/1/3', 'a/x/1/4', 'a/y/5', 'a/y/6'),
    fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 12 }),
    { minKeys: 1 },
  )
  let asks = 0
  fc.assert(
    fc.property(paces, lines, fc.nat(3_000_000), ({ outer, inner, key }, jobs, asksAfter) => {
      const line = new FamilyLine({ 'a/': outer, ...inner }, () => key)
      for (const [name, costs] of Object.entries(jobs)) line.enqueue(name, ...costs.map((cost) => ({ cost })))
      line.run(line.now + asksAfter)
      const asked = line.now
      const said = Object.keys(jobs).map((name) => [name, line.waitsAtMost(name)] as const)
      line.run(asked + 3_600_000_000)
      for (const [name, most] of said) {
        // All of its jobs have started.
        if (most === undefined) continue
        asks++
        const last = line.history.findLast((event) => event.type === 'start' && event.key === name)!
        expect(last.at - asked).toBeLessThanOrEqual(most)
      }
    }),
    { numRuns: 300 },
  )
  expect(asks).toBeGreaterThan(300)
})
