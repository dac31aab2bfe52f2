import { expect, test } from 'vitest'
import type { Arrival } from '../../../src/simulate/arrival.ts'
import { readArrivals } from '../../../src/simulate/read-arrivals.ts'
import { readDepartures } from '../../../src/simulate/read-departures.ts'

async function* chunksOf(text: string) {
  yield new TextEncoder().encode(text)
}

async function read(text: string, units: readonly string[]): Promise<Arrival[]> {
  const all: Arrival[] = []
  for await (const batch of readArrivals('in', chunksOf(text), units)) all.push(...batch)
  return all
}

test('recorded arrivals name their costs in one column, or property, of all units', async () => {
  const rows = 'offset_s,key,cost,costs\n0,a,1,"images=2,tokens=812"\n1,a,2,\n2,a,1,tokens=9\n'
  const lines =
    '{"offset_s":0,"key":"a","costs":{"images":2,"tokens":812}}\n{"offset_s":1,"key":"a","cost":2,"costs":{}}\n' +
    '{"offset_s":2,"key":"a","costs":"tokens=9"}\n'
  for (const text of [rows, lines]) {
    expect(await read(text, ['tokens'])).toEqual([
      { at: 0, key: 'a', cost: 1, costs: { tokens: 812 } },
      { at: 1e6, key: 'a', cost: 2 },
      { at: 2e6, key: 'a', cost: 1, costs: { tokens: 9 } },
    ])
  }
})

test('departures may name them so, too', async () => {
  const text = 'key,departs_s,costs\na,0,"images=2,tokens=812"\na,1,\n'
  expect((await readDepartures('out', chunksOf(text), ['tokens'])).map(({ costs }) => costs)).toEqual([
    { tokens: 812 },
    undefined,
  ])
})

test('a unit with the name of a column is named in costs', async () => {
  const text = 'offset_s,key,cost,costs\n0,a,1,"key=3,position=2"\n'
  expect(await read(text, ['key', 'position'])).toMatchObject([{ key: 'a', costs: { key: 3, position: 2 } }])
})

test.each([
  ['812', '2:6: expected costs such as tokens=1200,images=2, got: "812"'],
  ['tokens=0', '2:6: arrival: expected costs.tokens to be a whole number from 1 to 1000000000, got: 0'],
  ['tokens=1.5', '2:6: expected costs such as tokens=1200,images=2, got: "tokens=1.5"'],
  ['tokens=9999999999', 'expected costs.tokens to be a whole number from 1 to 1000000000, got: 9999999999'],
  ['"tokens=1,tokens=2"', '2:6: expected each unit once, got: "tokens=1,tokens=2"'],
  ['per=1', '2:6: arrival: expected each name in costs to be a name of 1 to 32 letters'],
  [`"${'abcdefghi'.replace(/./g, '$&=1,')}j=1"`, 'expected costs to be an object with at most 8 units'],
])('costs such as %s are refused with their place', async (costs, message) => {
  await expect(read(`offset_s,key,costs\n0,ab,${costs}\n`, ['tokens'])).rejects.toThrow(message)
})

test('what is not costs is refused in JSON, and so is a unit that is named twice', async () => {
  const line = (fields: object) => read(JSON.stringify({ offset_s: 0, key: 'a', ...fields }), ['tokens'])
  await expect(line({ costs: 3 })).rejects.toThrow(
    'expected costs to be an object such as { tokens: 1200 }, got: 3',
  )
  await expect(line({ costs: { tokens: '3' } })).rejects.toThrow('expected costs.tokens to be a whole number')
  await expect(line({ costs: { tokens: 3 }, tokens: 3 })).rejects.toThrow(
    'expected tokens in costs or in a column of its own, got: both',
  )
  // The unit that has a column of its own may be empty there.
  expect(await line({ costs: { tokens: 3 }, tokens: null })).toMatchObject([{ costs: { tokens: 3 } }])
})
