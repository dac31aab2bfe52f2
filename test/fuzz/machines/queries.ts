import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import type { BucketQueryInput } from '../../../src/line/bucket-query.ts'
import { readBucketQuery } from '../../../src/shaper/request-reader.ts'
import { DRIVERS } from '../../conformance/drivers.ts'
import { at, type Driver, request } from '../../support/backend-driver.ts'
import { machine } from '../machine.ts'
import { oddNumber, oddText, orOdd, someFields } from '../odd-values.ts'
import { outcomeOf, settled } from '../refusals.ts'

const NOW = at(3)
const KEYS = [
  'a',
  'a/1',
  'a/2',
  'a1',
  'ab/c',
  'b',
  'B',
  'é',
  'e\u0301',
  '🎟️',
  'z/*',
  '{}',
  '__proto__',
  '~',
  'a b',
  '%',
  '\uffff',
  '￿/x',
  '𐀀',
]
const share = fc.oneof(fc.constantFrom(0, 0.2, 0.5, 1, 1 / 3), oddNumber)
const bookmark = fc
  .tuple(
    orOdd(fc.constantFrom('-fill', 'fill', 'key', 'oldestWaitMs')),
    orOdd(share),
    orOdd(fc.constantFrom(...KEYS)),
    orOdd(oddNumber),
    orOdd(fc.nat(30)),
  )
  .map((parts) => {
    try {
      return Buffer.from(JSON.stringify(parts)).toString('base64url')
    } catch {
      return 'none'
    }
  })
const cursor = fc.oneof(bookmark, oddText, fc.constant('last'))
const query = someFields({
  prefix: orOdd(fc.oneof(fc.constantFrom(...KEYS, 'a/', ''), oddText), 8),
  pattern: orOdd(fc.constantFrom('*', 'b', 'é')),
  minFill: orOdd(share),
  maxFill: orOdd(share),
  state: orOdd(fc.constantFrom('idle', 'waiting', 'full', 'frozen', 'paused'), 8),
  minOldestWaitMs: orOdd(fc.oneof(fc.constantFrom(0, 1_000, 2_000, 3_000), oddNumber)),
  sort: orOdd(
    fc.constantFrom(
      'fill',
      '-fill',
      'key',
      '-key',
      'waiting',
      '-waiting',
      'oldestWaitMs',
      '-oldestWaitMs',
      'nextDepartureAt',
      '-lastUsedAt',
      'state',
      '-pattern',
      'running',
    ),
    12,
  ),
  limit: orOdd(fc.integer({ min: 1, max: 8 }), 8),
  cursor: orOdd(cursor, 8),
})

async function fill(driver: Driver): Promise<void> {
  for (const [index, key] of KEYS.entries()) {
    for (let job = 0; job <= index % 5; job++) {
      // Of two keys that are due at the same microsecond, either may start first.
      await driver.admit(request(`j${index}-${job}`, { key }), at(job * 0.4 + index / 1_000))
    }
  }
  await driver.freeze('b', at(100), at(2))
  await driver.pause('ab/c', at(2))
  await driver.startNext(at(2))
}

/** Queries and cursors of any text: refused by name, or the same page in memory and on Redis. */
export const queries = machine({
  name: 'queries for buckets',
  inputs: query as fc.Arbitrary<BucketQueryInput>,
  few: 600,
  share: 6,
  open: async () => {
    const drivers = await Promise.all(
      DRIVERS.map(([, open]) => open({ '*': '5, 1/s', b: '3, 1/s', é: '9, 1/s' })),
    )
    for (const driver of drivers) await fill(driver)
    // A cursor is for the line that gave it.
    const last: (string | undefined)[] = []
    let filterOfLast = ''
    const give = async (given: BucketQueryInput) => {
      const askedOf = (line: number) => (given?.cursor === 'last' ? { ...given, cursor: last[line] } : given)
      if (outcomeOf(() => readBucketQuery(askedOf(0)), 'invalid-options').kind === 'refused') return 1
      const { cursor: place, limit: _, ...filter } = given
      const asked = JSON.stringify(filter)
      // A cursor says how many came before: with those of another query, that is the sum of nothing.
      const isTotalKnown =
        place === undefined || (place === 'last' && (last[0] === undefined || asked === filterOfLast))
      const [inMemory, onRedis] = await Promise.all(
        drivers.map(async (driver, line) => {
          const page = await settled(() => driver.list(askedOf(line), NOW), 'invalid-options')
          // A message shows a long cursor in part.
          if (page.kind === 'refused')
            return place === 'last' ? page.error.message.replace(/got: ".*"$/, '') : page.error.message
          const { cursor, buckets, total, ...rest } = page.value
          if (cursor !== undefined) [last[line], filterOfLast] = [cursor, asked]
          const views = buckets.map(({ durability: _, ...view }) => view)
          return { ...rest, ...(isTotalKnown && { total }), buckets: views, hasMore: cursor !== undefined }
        }),
      )
      deepStrictEqual(onRedis, inMemory)
      return 1
    }
    return { give, close: async () => void (await Promise.all(drivers.map((driver) => driver.close()))) }
  },
})
