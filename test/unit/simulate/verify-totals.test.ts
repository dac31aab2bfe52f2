import { describe, expect, it } from 'vitest'
import { RuleBook } from '../../../src/core/rule-book.ts'
import { departuresHeader, formatDeparture } from '../../../src/simulate/departures-csv.ts'
import { FamilySimulation } from '../../../src/simulate/family-simulation.ts'
import { seededRandom } from '../../../src/simulate/random.ts'
import { readDepartures } from '../../../src/simulate/read-departures.ts'
import { verifyDepartures } from '../../../src/simulate/verify-departures.ts'

async function verify(text: string, limits: Record<string, string>, units: readonly string[] = []) {
  async function* chunks() {
    yield new TextEncoder().encode(text)
  }
  return verifyDepartures(await readDepartures('out.csv', chunks(), units), new RuleBook(limits))
}

const KEYS = ['a/1', 'a/2', 'a/eu/1', 'a/eu/2', 'a', 'b/1', 'c']

/** Some hundred arrivals of several families, in bursts, of several costs. */
function simulate(limits: Record<string, string>, seed: number, handlerTime?: number): string {
  const columns = { units: ['tokens'], handlerTime }
  let text = departuresHeader(columns)
  const simulation = new FamilySimulation(new RuleBook(limits), handlerTime, (arrival, outcome) => {
    text += formatDeparture(arrival, outcome, columns)
  })
  const random = seededRandom(seed)
  let at = 0
  for (let count = 0; count < 400; count++) {
    if (random() < 0.6) at += Math.round(random() * 500_000)
    const key = random() < 0.4 ? KEYS[0]! : KEYS[Math.floor(random() * KEYS.length)]!
    const tokens = 1 + Math.floor(random() * 9)
    simulation.offer({ at, key, cost: random() < 0.2 ? 3 : 1, costs: { tokens } })
  }
  simulation.finish()
  return text
}

describe('verify of totals', () => {
  it.each([
    [{ '*': '50, 5/s', '*/': '30, 7/s' }, undefined],
    [{ '*': '50, 7/s', 'a/2': '50, 7/s, weight 3', 'a/': '60, 7 per 3 seconds, tolerance 0' }, undefined],
    [
      { '*': '20, 3/s, 40/minute', 'a/eu/': '20, 3/s, weight 0.5', 'a/': '90, 3/s, 99 tokens/7s 9 each' },
      undefined,
    ],
    [{ '*': '20, 9/s, 1 at once', 'a/eu/': '20, 9/s, 1 at once', '*/': '90, 9/s, 3 at once' }, 700_000],
    [{ '*': '20, 3/s', 'a/': '90, 7/s, warm-up 5s' }, undefined],
  ])('finds no breach in the output of simulate under %j', async (limits, handlerTime) => {
    for (const seed of [1, 2, 3]) {
      const { breaches, judged } = await verify(simulate(limits, seed, handlerTime), limits, ['tokens'])
      expect(breaches).toEqual([])
      expect(judged).toEqual(expect.arrayContaining(['L1', 'L2', 'L12']))
    }
  })

  const HEADER = 'offset_s,key,verdict,departs_s,retry_after_s,ends_s,tokens\n'
  const row = (key: string, at: number, departs: number, ends: number | '' = departs, tokens = 1) =>
    `${at},${key},accepted,${departs},,${ends},${tokens}\n`
  const lawsBroken = async (total: string, ...rows: string[]) => {
    const limits = { '*': '50, 1/s', 'a/': total }
    const { breaches } = await verify(HEADER + rows.join(''), limits, ['tokens'])
    return breaches.map(({ law, key }) => [law, key])
  }

  it('L2: two starts of a family are too close', async () => {
    const rows = [row('a/1', 0, 0), row('a/2', 0, 0.5)]
    expect(await lawsBroken('50, 2/s', ...rows)).toEqual([])
    expect(await lawsBroken('50, 1/s', ...rows)).toEqual([['L2', 'a/']])
  })

  it('L1: more waits below a total than it has room for', async () => {
    const rows = [row('a/1', 0, 0), row('a/1', 0, 1), row('a/2', 0, 2)]
    expect(await lawsBroken('2, 1/s', ...rows)).toEqual([])
    expect(await lawsBroken('1, 1/s', ...rows)).toEqual([['L1', 'a/']])
    // A departure at that moment makes room, also if six decimals write it a little later.
    for (const departs of [1, 1.000001]) {
      const later = [row('a/1', 0, departs), row('a/2', 1, departs + 1)]
      expect(await lawsBroken('1, 1/s', rows[0]!, ...later)).toEqual([])
    }
  })

  it('L10 and L11: a quota or the places of a total had no room', async () => {
    const rows = [row('a/1', 0, 0, 5, 9), row('a/2', 0, 2, 4, 9), row('a/1', 0, 4, '', 9)]
    expect(await lawsBroken('50, 1/s, 27 tokens/minute 9 each, 2 at once', ...rows)).toEqual([])
    expect(await lawsBroken('50, 1/s, 26 tokens/minute 9 each', ...rows)).toEqual([['L10', 'a/']])
    expect(await lawsBroken('50, 1/s, 1 at once', ...rows)).toEqual([
      ['L11', 'a/'],
      ['L11', 'a/'],
    ])
  })

  it('L12: one child had all, while another waited', async () => {
    const flood = Array.from({ length: 9 }, (_, n) => row('a/1', 0, n))
    const other = Array.from({ length: 3 }, (_, n) => row('a/2', 0, 9 + n))
    expect(new Set((await lawsBroken('50, 1/s', ...flood, ...other)).map(([law]) => law))).toEqual(
      new Set(['L12']),
    )
    const inTurn = [...flood.slice(0, 3), row('a/2', 0, 3), row('a/1', 0, 4), row('a/2', 0, 5)]
    expect(await lawsBroken('50, 1/s', ...inTurn)).toEqual([])
  })

  it('judges what departures alone can show, and no shares', async () => {
    const { judged, breaches } = await verify('key,departs_s\na/1,0\na/2,0\n', {
      '*': '9, 1/s',
      'a/': '9, 1/s',
    })
    expect(judged).toEqual(['L2'])
    expect(breaches).toMatchObject([{ law: 'L2', key: 'a/' }])
  })

  it('says which families are too large, and checks their keys all the same', async () => {
    const rows = Array.from({ length: 10_001 }, (_, n) => `a/${n},0\n`).join('')
    const limits = { '*': '9, 1/s', '*/': '9, 1/s' }
    const { breaches, unknown } = await verify(`key,departs_s\n${rows}a/1,0\nb/1,0\nb/2,0\n`, limits)
    expect(breaches.map(({ key }) => key)).toEqual(['b/', 'a/1'])
    expect(unknown.at(-1)).toBe('too many keys and rows to check their totals: "a/"')
  })
})
