import { describe, expect, it } from 'vitest'
import { InvalidInputError } from '../../../src/core/errors.ts'
import { type Limit, parseLimit } from '../../../src/core/limit.ts'
import { RuleBook } from '../../../src/core/rule-book.ts'
import { departuresHeader, formatDeparture } from '../../../src/simulate/departures-csv.ts'
import { generateArrivals } from '../../../src/simulate/generate-arrivals.ts'
import { readDepartures } from '../../../src/simulate/read-departures.ts'
import { Simulation } from '../../../src/simulate/simulation.ts'
import { verifyDepartures } from '../../../src/simulate/verify-departures.ts'
import { quota } from '../../support/history.ts'

async function verify(text: string, limit: string) {
  async function* chunks() {
    yield new TextEncoder().encode(text)
  }
  return verifyDepartures(await readDepartures('out.csv', chunks()), new RuleBook({ '*': limit }))
}

function simulate(limit: string, options: { rate: number; keys: number; costs?: number }): string {
  const simulation = new Simulation(new RuleBook({ '*': limit }))
  let text = departuresHeader()
  let index = 0
  for (const batch of generateArrivals({ pattern: 'on-off', seconds: 60, seed: 7, ...options })) {
    for (const made of batch) {
      const arrival = { ...made, cost: 1 + (index++ % (options.costs ?? 1)) }
      text += formatDeparture(arrival, simulation.offer(arrival))
    }
  }
  return text
}

const HEADER = 'offset_s,key,cost,verdict,position,departs_s,wait_s,retry_after_s'

/** Capacity 2 and one per second: four together, of which the last is rejected, and one that came back. */
const SOUND = [
  '0.000000,a,1,accepted,1,0.000000,0.000000,',
  '0.000000,a,1,accepted,1,1.000000,1.000000,',
  '0.000000,a,1,accepted,2,2.000000,2.000000,',
  '0.000000,a,1,rejected,,,,1.000000',
  '1.000000,a,1,accepted,2,3.000000,2.000000,',
]

/** The laws that break when row `index` (from 0) is replaced. */
async function lawsBroken(index: number, row: string): Promise<string[]> {
  const text = [HEADER, ...SOUND.with(index, row)].join('\n')
  return (await verify(text, '2, 1/s')).breaches.map(({ law }) => law)
}

describe('verify', () => {
  it.each([
    ['20, 3/s', { rate: 4, keys: 1 }],
    ['20, 3/s', { rate: 40, keys: 7 }],
    ['9, 7/s', { rate: 30, keys: 2, costs: 4 }],
    ['3, 7 per 3 seconds', { rate: 30, keys: 2, costs: 5 }],
    ['50, 1/h', { rate: 1, keys: 2 }],
    ['20, 3/s, warm-up 5s', { rate: 4, keys: 2 }],
    ['9, 7/s, warm-up 2s from 2/s', { rate: 30, keys: 2, costs: 4 }],
  ])('finds no breach in the output of simulate under %s', async (limit, options) => {
    const result = await verify(simulate(limit, options), limit)
    expect(result.breaches).toEqual([])
    expect(result).toMatchObject({ keys: options.keys, judged: ['L1', 'L2', 'L3', 'L4', 'L5'] })
  })

  it('is not confused by six decimals of a third of a second', async () => {
    const simulation = new Simulation(new RuleBook({ '*': '2, 3/s' }))
    let text = departuresHeader()
    for (let index = 0; index < 900; index++) {
      const arrival = { at: (Math.floor(index / 2) * 1e6) / 3, key: 'a', cost: 1 + (index % 2) }
      text += formatDeparture(arrival, simulation.offer(arrival))
    }
    expect((await verify(text, '2, 3/s')).breaches).toEqual([])
  })

  it('accepts the file in which the breaches below are planted', async () => {
    expect(await lawsBroken(0, SOUND[0]!)).toEqual([])
  })

  it('L1: more wait than the capacity', async () => {
    expect(await lawsBroken(3, '0.000000,a,1,accepted,3,4.000000,4.000000,')).toContain('L1')
  })

  it('L1: a job was rejected although there was room', async () => {
    expect(await lawsBroken(4, '1.000000,a,1,rejected,,,,0.000000')).toContain('L1')
  })

  it('L1: a job was rejected at the moment when room was made', async () => {
    expect(await lawsBroken(4, '1.000000,a,1,rejected,,,,1.000000')).toContain('L1')
  })

  it('L1: a cost that fits was rejected as too costly', async () => {
    expect(await lawsBroken(4, '1.000000,a,2,rejected,,,,')).toContain('L1')
  })

  it.each(['0.500000', '1.500000'])('L1: a job was asked to retry after %s s', async (retryAfter) => {
    expect(await lawsBroken(3, `0.000000,a,1,rejected,,,,${retryAfter}`)).toContain('L1')
  })

  it('L2: two departures came too close', async () => {
    const text = [HEADER, ...SOUND.with(1, '0.000000,a,1,accepted,1,0.994000,0.994000,')].join('\n')
    const { breaches } = await verify(text, '2, 1/s')
    expect(breaches).toHaveLength(1)
    expect(breaches[0]).toMatchObject({ law: 'L2', key: 'a', id: 'line 3', at: 994_000 })
    expect(breaches[0]!.message).toContain('994.000 ms')
  })

  it('L3: a full line departed at half its rate', async () => {
    const rows = Array.from({ length: 30 }, (_, index) => {
      const departs = (index * 2).toFixed(6)
      return `0.000000,a,1,accepted,${Math.max(1, index)},${departs},${departs},`
    })
    const { breaches } = await verify([HEADER, ...rows].join('\n'), '100, 1/s')
    expect(breaches.map(({ law }) => law)).toEqual(['L3'])
    expect(breaches[0]!.message).toContain('50.00 %')
  })

  it('L4: two jobs departed in the wrong order', async () => {
    const text = [
      HEADER,
      SOUND[0],
      SOUND[2]!.replace('accepted,2', 'accepted,1'),
      SOUND[1]!.replace('accepted,1', 'accepted,2'),
    ].join('\n')
    expect((await verify(text, '2, 1/s')).breaches.map(({ law }) => law)).toEqual(['L4'])
  })

  it('L5: a job departed before it was accepted', async () => {
    expect(await lawsBroken(4, '5.000000,a,1,accepted,1,4.000000,0.000000,')).toContain('L5')
  })

  it('L10: a quota had no room for a departure', async () => {
    const judge = async (text: string, parts: Partial<Limit>) => {
      const rows = await readDepartures('out.csv', [new TextEncoder().encode(text)] as never)
      const limit = { ...parseLimit('2, 1/s'), ...parts }
      return verifyDepartures(rows, { resolve: () => ({ limit }), totalsOf: () => [] } as never)
    }
    const text = [HEADER, ...SOUND].join('\n')
    const minute = (amount: number) => ({ quotas: [quota(amount, 60_000)] })
    expect(await judge(text, minute(4))).toMatchObject({
      judged: ['L1', 'L2', 'L3', 'L4', 'L5', 'L10'],
      breaches: [],
    })
    const { breaches } = await judge(text, minute(3))
    expect(breaches.map(({ law, id }) => [law, id])).toEqual([['L10', 'line 6']])
    const alone = await judge('key,departs_s\na,0\na,1\na,2\n', minute(2))
    expect(alone.judged).toEqual(['L2', 'L10'])
    expect(alone.breaches.map(({ law }) => law)).toEqual(['L10'])
    // A file says nothing of when handlers end, so a bound on them requires nothing.
    const slow = [HEADER, ...SOUND.slice(0, 2), '0.000000,a,1,accepted,2,8.000000,8.000000,'].join('\n')
    expect((await judge(slow, { concurrency: 1 })).breaches.map(({ law }) => law)).not.toContain('L3')
    expect((await judge(slow, {})).breaches.map(({ law }) => law)).toContain('L3')
  })

  it('checks only the spacing of departures alone, in any order of the rows', async () => {
    const even = await verify('key,departs_s\na,2\na,0\nb,0.5\na,1\n', '1, 1/s')
    expect(even).toMatchObject({ rows: 4, keys: 2, judged: ['L2'], breaches: [] })
    const uneven = await verify('key,departs_s\na,0\na,0.9\n', '1, 1/s')
    expect(uneven.breaches.map(({ law }) => law)).toEqual(['L2'])
    const costly = await verify('key,departs_s,cost\na,0,3\na,2,1\n', '3, 1/s')
    expect(costly.breaches.map(({ law }) => law)).toEqual(['L2'])
  })

  it.each([
    ['', '1:1: expected departures as CSV or JSON lines, got nothing'],
    ['key\na\n', '1:1: expected a header with the column departs_s, got: "key"'],
    [`${HEADER}\n0,a,1,maybe,1,0,0,\n`, '2:7: expected the verdict to be accepted or rejected, got: "maybe"'],
    [
      `${HEADER}\n0,a,1,accepted,1,,0,\n`,
      '2:18: expected departs_s to be a number of seconds, got: "" (string)',
    ],
    [
      `${HEADER}\n0,a,1,rejected,,,,soon\n`,
      '2:19: expected retry_after_s to be a number of seconds, got: "soon" (string)',
    ],
    [
      `${HEADER}\n1,a,1,accepted,1,1,0,\n0,a,1,accepted,1,1,1,\n`,
      '3:1: expected arrivals in the order of time',
    ],
  ])('reports the position of the error in %j', async (text, message) => {
    const failure = await verify(text, '1, 1/s').catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(InvalidInputError)
    expect((failure as Error).message).toContain(`out.csv:${message}`)
  })

  it('finds a last departure that was hours late', async () => {
    expect(await lawsBroken(4, '1.000000,a,1,accepted,2,9003.000000,9002.000000,')).toContain('L3')
  })

  it('rejects a wait that is not the time between arrival and departure', async () => {
    await expect(lawsBroken(4, '1.000000,a,1,accepted,2,3.000000,77.000000,')).rejects.toThrow(
      'expected wait_s to be departs_s minus offset_s, 2, got: 77',
    )
  })
})
