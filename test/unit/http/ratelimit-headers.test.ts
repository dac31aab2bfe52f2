import { expect, test } from 'vitest'
import { rateLimitHeaders, retryAfterSeconds } from '../../../src/http/ratelimit-headers.ts'
import { quotaOfMeter } from '../../../src/http/ratelimit-quotas.ts'
import { Meter, type MeterOptions, type MeterReading } from '../../../src/meter.ts'
import { VirtualClock } from '../../../src/testing.ts'

function metered(limit: string, more: Partial<MeterOptions> = {}) {
  const clock = new VirtualClock()
  return { clock, meter: new Meter('m', { limits: { '*': limit }, clock, ...more }) }
}

const fieldsOf = (reading: MeterReading) => Object.values(rateLimitHeaders(quotaOfMeter(reading)))

test.each([
  ['4, 1/s', 0, '"*";q=4;w=4', '"*";r=4;t=0'],
  ['4, 1/s', 1, '"*";q=4;w=4', '"*";r=3;t=1'],
  ['4, 1/s', 1.5, '"*";q=4;w=4', '"*";r=2;t=1'],
  ['4, 1/s', 4, '"*";q=4;w=4', '"*";r=0;t=1'],
  ['4, 1/m', 0.25, '"*";q=4;w=240', '"*";r=3;t=15'],
  ['4, 1/m', 3.5, '"*";q=4;w=240', '"*";r=0;t=30'],
  ['3, 3/s', 1, '"*";q=3;w=1', '"*";r=2;t=1'],
  ['7, 49/s', 0, '"*";q=7;w=1', '"*";r=7;t=0'],
  ['1000000000, 1 per 366 days', 1, '"*";q=1000000000;w=31622400000000000', ''],
])('of %s, filled with %d', async (limit, amount, policy, field) => {
  const [policyField, limitField] = fieldsOf(await metered(limit).meter.fill('k', amount))
  // The largest number that such a field may hold.
  expect(policyField).toBe(policy.replace('31622400000000000', '999999999999999'))
  if (field !== '') expect(limitField).toBe(field)
})

test('a sum of fractions is taken for the whole that it is', async () => {
  const { meter } = metered('2, 1/s')
  for (let n = 0; n < 9; n++) await meter.fill('k', 0.1)
  expect(fieldsOf(await meter.fill('k', 0.1))[1]).toBe('"*";r=1;t=1')
})

test('after a refusal the time is that of the same fill, and nothing is free while a block lasts', async () => {
  const { clock, meter } = metered('4, 1/s', { blockWhenFull: '1m' })
  await meter.fill('k', 3)
  expect(fieldsOf(await meter.fill('k', 4))[1]).toBe('"*";r=0;t=60')
  await clock.advance(30_000_000)
  expect(fieldsOf(await meter.fill('k', 1))[1]).toBe('"*";r=0;t=30')
})

test('of a limit that was lowered, the time is that until there is room again', async () => {
  const clock = new VirtualClock()
  let limit = '10, 1/s'
  const meter = new Meter('m', { limits: { resolve: () => ({ pattern: '*', limit }) }, clock })
  await meter.fill('k', 9)
  limit = '4, 1/s'
  const never = await meter.fill('k', 5)
  expect(never.retryAfterMs).toBe(Number.POSITIVE_INFINITY)
  expect(fieldsOf(never)).toEqual(['"*";q=4;w=4', '"*";r=0;t=6'])
})

test.each([
  [0, 1],
  [1, 1],
  [1_000, 1],
  [1_001, 2],
  [59_999.5, 60],
])('%d ms are sent as %d s', (ms, seconds) => {
  expect(retryAfterSeconds(ms)).toBe(seconds)
})

test('each quota is a policy of its own, with its unit, and a time only where nothing more has room', async () => {
  const { meter } = metered('4, 1/s, 9/m, 100 tokens/h 20 each')
  expect(fieldsOf(await meter.fill('k', { tokens: 30 }))).toEqual([
    '"*";q=4;w=4, "* 9/minute";q=9;w=60, "* 100 tokens/hour";q=100;w=3600;qu="tokens"',
    '"*";r=3;t=1, "* 9/minute";r=8, "* 100 tokens/hour";r=70;qu="tokens"',
  ])
  const refused = await meter.fill('k', { tokens: 71 })
  expect(fieldsOf(refused)[1]).toBe('"*";r=3;t=3660, "* 9/minute";r=8, "* 100 tokens/hour";r=70;qu="tokens"')
  await meter.fill('k', { tokens: 60 })
  expect(fieldsOf(await meter.fill('k', 0))[1]).toBe(
    '"*";r=2;t=1, "* 9/minute";r=7, "* 100 tokens/hour";r=10;t=3660;qu="tokens"',
  )
})

test('totals have 1,024 characters of each field, what has least left first, and keep their order', () => {
  const governing = { pattern: '*', capacity: 4, intervalMs: 1_000, free: 4, waitMs: 0 }
  const total = (n: number, free?: number) => {
    return { pattern: `${'a/'.repeat(100)}${n}/`, capacity: 10, intervalMs: 1_000, free, waitMs: 0 }
  }
  const namesIn = (field: string) => [...field.matchAll(/(\d|\*)\/?";/g)].map(([, name]) => name)
  const few = [total(1, 9), total(2, 2), total(3, 8), total(4, 3)]
  const fields = Object.values(rateLimitHeaders(governing, few))
  for (const field of fields) expect(namesIn(field)).toEqual(['*', '1', '2', '3', '4'])
  const counted = { ...total(6, 9), parts: [{ name: '5/day', amount: 5, left: 0, windowMs: 86_400_000 }] }
  const many = [...few, total(5, 7), counted, ...Array.from({ length: 90 }, () => total(7))]
  for (const field of Object.values(rateLimitHeaders(governing, many))) {
    expect(field.length).toBeLessThanOrEqual(1_024)
    // Those that were left out had more: 9, 8 and 7 of 10, or nothing is known of them.
    expect(namesIn(field)).toEqual(['*', '2', '4', ...namesIn(field).slice(3)])
    expect(field).toContain('6/ 5/day";')
  }
  const unread = Array.from({ length: 90 }, (_, n) => total(n % 10))
  const policies = rateLimitHeaders(governing, unread)['ratelimit-policy']
  expect(namesIn(policies)).toEqual(['*', '0', '1', '2', '3'])
})
