import { describe, expect, it } from 'vitest'
import { NoLimitError } from '../../../src/core/errors.ts'
import { RuleBook } from '../../../src/core/rule-book.ts'
import type { Arrival } from '../../../src/simulate/arrival.ts'
import { departuresHeader, formatDeparture } from '../../../src/simulate/departures-csv.ts'
import { Simulation } from '../../../src/simulate/simulation.ts'

function simulate(limit: string, arrivals: readonly Arrival[]) {
  const simulation = new Simulation(new RuleBook({ '*': limit }))
  const rows = arrivals.map((arrival) => formatDeparture(arrival, simulation.offer(arrival)).trimEnd())
  return { simulation, rows }
}

function at(seconds: number, key = 'a', cost = 1): Arrival {
  return { at: seconds * 1e6, key, cost }
}

describe('simulation', () => {
  it('holds ten quick arrivals to capacity 5 and rate 2/s', () => {
    const { rows } = simulate(
      '5, 2/s',
      Array.from({ length: 10 }, (_, index) => at(index / 10)),
    )
    expect(rows).toEqual([
      '0.000000,a,1,accepted,1,0.000000,0.000000,',
      '0.100000,a,1,accepted,1,0.500000,0.400000,',
      '0.200000,a,1,accepted,2,1.000000,0.800000,',
      '0.300000,a,1,accepted,3,1.500000,1.200000,',
      '0.400000,a,1,accepted,4,2.000000,1.600000,',
      '0.500000,a,1,accepted,4,2.500000,2.000000,',
      '0.600000,a,1,accepted,5,3.000000,2.400000,',
      '0.700000,a,1,rejected,,,,0.300000',
      '0.800000,a,1,rejected,,,,0.200000',
      '0.900000,a,1,rejected,,,,0.100000',
    ])
  })

  it('names the columns of a departures file', () => {
    expect(departuresHeader()).toBe('offset_s,key,cost,verdict,position,departs_s,wait_s,retry_after_s\n')
  })

  it('removes a unit that departs at the moment of an arrival', () => {
    const { rows } = simulate('1, 1/s', [at(0), at(0), at(1), at(1)])
    expect(rows).toEqual([
      '0.000000,a,1,accepted,1,0.000000,0.000000,',
      '0.000000,a,1,accepted,1,1.000000,1.000000,',
      '1.000000,a,1,accepted,1,2.000000,1.000000,',
      '1.000000,a,1,rejected,,,,1.000000',
    ])
  })

  it('counts three thirds of a second as a second, a thousand times', () => {
    const arrivals = Array.from({ length: 3_000 }, (_, index) => at(index / 3))
    // One more at that moment fills the one place; each arrival then meets the departure that makes room for it.
    const { simulation } = simulate('1, 3/s', [at(0), ...arrivals])
    expect(simulation.summary()).toMatchObject({ accepted: 3_001, rejected: 0 })
  })

  it('spaces the start after a job of cost 3 as three of cost 1 would', () => {
    const { rows } = simulate('10, 2/s', [
      at(0, 'a', 3),
      at(0),
      at(0, 'b'),
      at(0, 'b'),
      at(0, 'b'),
      at(0, 'b'),
    ])
    expect(rows[1]).toBe('0.000000,a,1,accepted,1,1.500000,1.500000,')
    expect(rows[5]).toBe('0.000000,b,1,accepted,3,1.500000,1.500000,')
  })

  it('distinguishes a cost above the capacity from a full line, without a retry time', () => {
    const { simulation, rows } = simulate('2, 1/s', [at(0, 'a', 3), at(0), at(0), at(0), at(0)])
    expect(rows[0]).toBe('0.000000,a,3,rejected,,,,')
    expect(simulation.summary()).toMatchObject({
      arrivals: 5,
      accepted: 3,
      rejected: 2,
      rejections: { full: 1, 'too-costly': 1 },
      keys: 1,
      waitMs: { p50: 1_000, p90: 2_000, p99: 2_000, max: 2_000 },
      fullestBucket: { key: 'a', waiting: 2, capacity: 2, fill: 1, atS: 0 },
      lastDepartureS: 2,
    })
  })

  it('has a result without arrivals', () => {
    const summary = new Simulation(new RuleBook({ '*': '1, 1/s' })).summary()
    expect(summary).toMatchObject({ arrivals: 0, keys: 0, fullestBucket: null, lastDepartureS: null })
    expect(summary.waitMs).toEqual({ p50: null, p90: null, p99: null, max: null })
  })

  it('rejects a key without a limit', () => {
    const simulation = new Simulation(new RuleBook({ a: '1, 1/s' }))
    expect(() => simulation.offer(at(0, 'b'))).toThrow(NoLimitError)
  })

  it('quotes keys that CSV would split', () => {
    const { rows } = simulate('1, 1/s', [at(0, 'a,"b"')])
    expect(rows[0]).toBe('0.000000,"a,""b""",1,accepted,1,0.000000,0.000000,')
  })

  it('deletes a hundred thousand keys that were used once, and keeps those in use', () => {
    const simulation = new Simulation(new RuleBook({ '*': '5, 1/s' }))
    for (let index = 0; index < 100_000; index++) simulation.offer(at(index / 100, `user/${index}`))
    expect(simulation.liveBuckets).toBeLessThan(3_000)
    expect(simulation.summary().keys).toBe(100_000)

    const busy = new Simulation(new RuleBook({ '*': '5, 1/h' }))
    busy.offer(at(0, 'busy'))
    for (let index = 0; index < 2_000; index++) busy.offer(at(1 + index / 1e6, `user/${index}`))
    expect(busy.offer(at(2, 'busy'))).toMatchObject({ accepted: true, departsAt: 3_600e6 })
  })
})
