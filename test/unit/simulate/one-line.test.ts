import { expect, it } from 'vitest'
import { RuleBook } from '../../../src/core/rule-book.ts'
import type { Arrival } from '../../../src/simulate/arrival.ts'
import { generateArrivals } from '../../../src/simulate/generate-arrivals.ts'
import { OneLine } from '../../../src/simulate/one-line.ts'
import { Simulation } from '../../../src/simulate/simulation.ts'

const TOTAL = '40, 4/s, 90/minute'

function flooded(limits: Record<string, string>) {
  const options = { pattern: 'flood', seconds: 60, rate: 6, keys: 4, seed: 1, prefix: 'a/' } as const
  const arrivals = [...generateArrivals(options)].flat()
  const oneLine = new OneLine(new RuleBook(limits), 0)
  for (const arrival of arrivals) oneLine.offer(arrival)
  oneLine.finish()
  return { arrivals, oneLine }
}

/** What becomes of the arrivals if all were of one key with this limit. */
function asOneKey(arrivals: readonly Arrival[], limit: string) {
  const simulation = new Simulation(new RuleBook({ '*': limit }))
  return arrivals.map((arrival) => ({ arrival, outcome: simulation.offer({ ...arrival, key: 'all' }) }))
}

it('one line for a family is that of one key with the limit of the total, whatever the limits of its keys', () => {
  const { arrivals, oneLine } = flooded({ '*': '2, 1/s', 'a/': TOTAL })
  const expected = asOneKey(arrivals, TOTAL)
  const [total] = oneLine.book.summaries()
  expect(total!.children).toHaveLength(4)
  for (const { child, accepted, rejected, waitMs } of total!.children) {
    const own = expected.filter(({ arrival }) => arrival.key === child)
    const waits = own.flatMap(({ arrival, outcome }) =>
      outcome.accepted ? [outcome.departsAt - arrival.at] : [],
    )
    expect({ accepted, rejected }).toEqual({ accepted: waits.length, rejected: own.length - waits.length })
    expect(waitMs.max).toBeCloseTo(Math.max(...waits) / 1_000, 3)
  }
  expect(total!.rejected).toBeGreaterThan(0)
  expect(total!.rejectedByIt).toBe(total!.rejected)
})

it('one line is that of the outermost total, and keys without one are left out', () => {
  const { oneLine } = flooded({ '*': '9, 9/s', '*/': TOTAL, 'a/*/': '1, 1/s' })
  const nested = oneLine.book.summaries()
  expect(nested.map(({ path }) => path).sort()).toEqual([
    'a/',
    'a/key-1/',
    'a/key-2/',
    'a/key-3/',
    'a/key-4/',
  ])
  const [outermost] = nested
  expect(outermost!.children.map(({ child }) => child)).toContain('a/key-1/')
  expect(nested.slice(1).reduce((sum, { accepted }) => sum + accepted, 0)).toBe(outermost!.accepted)
  expect(flooded({ '*': '9, 9/s', 'b/': TOTAL }).oneLine.book.summaries()).toEqual([])
})

it('what departs at once has not waited', () => {
  const oneLine = new OneLine(new RuleBook({ '*': '9, 9/s', 'a/': '9, 1/s' }), 0)
  for (const at of [0, 2, 4]) oneLine.offer({ at: at * 1e6, key: 'a/1', cost: 1 })
  oneLine.finish()
  expect(oneLine.book.summaries()[0]!.mostWaiting).toBe(0)
})
