import { expect, test } from 'vitest'
import { HOUR, MILLISECOND, SECOND } from '../../../src/core/duration.ts'
import { BackendUnavailableError, ForeignValueError } from '../../../src/core/errors.ts'
import { parseCountedLimit } from '../../../src/core/limit.ts'
import { BOUNDARY } from '../../../src/core/quota.ts'
import type { QuotaFillRequest } from '../../../src/meter/meter-store.ts'
import { RedisMeterQuotas } from '../../../src/meter/redis-meter-quotas.ts'
import { packCounts, unpackCounts } from '../../../src/meter/stored-counts.ts'

const NOON = Date.UTC(2031, 4, 5, 12) * MILLISECOND
const { quotas: HOURLY } = parseCountedLimit('9, 9/s, 9 per hour in UTC')
const { quotas: ROLLING } = parseCountedLimit('9, 9/s, 9/h')
const REQUEST: QuotaFillRequest = {
  name: 'test',
  key: 'k',
  amount: 1,
  capacity: 9,
  interval: SECOND,
  clamp: false,
  block: 0,
  quotas: HOURLY,
  charges: [1],
}

const packed = (...values: number[]) => {
  const bytes = Buffer.alloc(values.length * 8)
  for (const [index, value] of values.entries()) bytes.writeDoubleLE(value, index * 8)
  return bytes
}
const AGAIN = (counts: Buffer = Buffer.alloc(0)) => Buffer.concat([packed(-1, NOON, 0, 0, 0, 0), counts])
const DONE = packed(1, NOON, 1, NOON, 0, SECOND)

/** The verbs over a Redis that gives these answers, the last one for ever; and what it was asked. */
function answering(...answers: Buffer[]) {
  const asked: (readonly (string | number | Buffer)[])[] = []
  const quotas = new RedisMeterQuotas((ask) =>
    ask(async (script, _meter, values) => {
      asked.push(values)
      return script.parse(answers[Math.min(asked.length, answers.length) - 1])
    }),
  )
  return { quotas, asked }
}

test('a fill that brought the periods of another time asks again with those of Redis, and knows its clock then', async () => {
  const { quotas, asked } = answering(AGAIN(), DONE)
  expect(await quotas.fill(REQUEST)).toMatchObject({ accepted: true, state: { level: 1 }, now: NOON })
  const bounds = [NOON - HOUR, NOON, NOON + HOUR, NOON + 2 * HOUR]
  expect(asked[0]!.slice(-4)).not.toEqual(bounds)
  expect(asked[1]!.slice(-4)).toEqual(bounds)
  await quotas.fill(REQUEST)
  expect(asked).toHaveLength(3)
  expect([bounds, bounds.map((at) => at + HOUR)]).toContainEqual(asked[2]!.slice(-4))
})

test('what was counted for other windows is carried over by the caller', async () => {
  const end = NOON + HOUR / 2
  const before = packCounts(ROLLING, [{ ends: [end], used: [5] }])
  const { quotas, asked } = answering(AGAIN(before), DONE)
  await quotas.fill(REQUEST)
  expect(asked[1]![7]).toEqual(before)
  expect(unpackCounts(asked[1]![8] as Buffer)?.uses).toEqual([{ ends: [NOON + BOUNDARY], used: [5] }])
})

test('a fill that fills under another limit overtake twenty times goes in, and brings what they left', async () => {
  const counts = [...Array(20).keys()].map((used) =>
    AGAIN(packCounts(ROLLING, [{ ends: [NOON + HOUR], used: [used + 1] }])),
  )
  const { quotas, asked } = answering(...counts, DONE)
  expect(await quotas.fill(REQUEST)).toMatchObject({ accepted: true })
  expect(asked).toHaveLength(21)
  expect(asked[20]![7]).toEqual(counts[19]!.subarray(6 * 8))
})

test('a limit that changes in several processes again and again is an error in the end', async () => {
  const { quotas, asked } = answering(AGAIN())
  await expect(quotas.fill(REQUEST)).rejects.toThrow(BackendUnavailableError)
  expect(asked).toHaveLength(50)
})

test('an answer of another version is refused', async () => {
  await expect(answering(packed(1)).quotas.fill(REQUEST)).rejects.toThrow(ForeignValueError)
  const [good] = [packCounts(ROLLING, [{ ends: [NOON], used: [5] }])]
  const bad = (at: number, value: number) => {
    const bytes = Buffer.from(good!)
    bytes.writeUInt8(value, at)
    return bytes
  }
  for (const counts of [bad(0, 0), bad(2, 255), bad(5, 0), good!.subarray(0, -1), Buffer.from('x')]) {
    expect(() => unpackCounts(counts)).toThrow(ForeignValueError)
  }
  expect(unpackCounts(good!)?.uses).toEqual([{ ends: [NOON], used: [5] }])
})
