import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { UnknownUnitError } from '../../../src/core/errors.ts'
import type { ForwardSettings } from '../../../src/forward/settings.ts'
import { BackendUnavailableError, type Costs, Shaper } from '../../../src/index.ts'
import { allowing, farSide, forwarder, jobOf } from './forwarding.ts'

const settle = { tokens: 'usage.total_tokens' }
type Settled = (amounts: Costs) => Promise<boolean>

/** Forwards one request whose answer is this; returns its result, what was settled, and what was not. */
async function forwarded(
  body: string | Buffer,
  more: Partial<ForwardSettings> = { settle },
  onSettle: Settled = async () => true,
  headers: Record<string, string> = {},
  status = 200,
) {
  const side = await farSide((response) => void response.writeHead(status, headers).end(body))
  const unsettled: string[][] = []
  const forward = forwarder(allowing(side.url, more), {
    onUnsettled: (...report) => void unsettled.push(report),
  })
  const settled: Costs[] = []
  const job = jobOf(
    { method: 'GET', url: side.url },
    {
      settle: async (amounts) => {
        settled.push(amounts)
        return onSettle(amounts)
      },
    },
  )
  const result = await forward(job)
  return { result, settled, unsettled, again: () => forward(job), origin: new URL(side.url).origin }
}

const answer = (total: unknown) => JSON.stringify({ usage: { total_tokens: total }, rest: 'x' })

test('a job is settled with what its answer says', async () => {
  const { result, settled, unsettled } = await forwarded(answer(812))
  expect(settled).toEqual([{ tokens: 812 }])
  expect(unsettled).toEqual([])
  expect(result).toMatchObject({ status: 200, body: answer(812), truncated: false })
})

test('also where less of the answer is kept, where it comes compressed, and where nothing was counted', async () => {
  const { result, settled } = await forwarded(answer(812), { settle, maxResponseBytes: 4 })
  expect(settled).toEqual([{ tokens: 812 }])
  expect(result).toMatchObject({ body: '{"us', truncated: true })
  const gzip = { 'content-encoding': 'gzip' }
  expect((await forwarded(gzipSync(answer(7)), { settle }, undefined, gzip)).settled).toEqual([{ tokens: 7 }])
  expect((await forwarded(answer(0))).settled).toEqual([{ tokens: 0 }])
})

test('elements of lists have a path, and each unit has its own', async () => {
  const rules = { tokens: 'usage.total', images: 'parts.1.images' }
  const body = JSON.stringify({ usage: { total: 5 }, parts: [{}, { images: 2 }] })
  expect((await forwarded(body, { settle: rules })).settled).toEqual([{ tokens: 5, images: 2 }])
})

test.each([
  ['no such field', '{"usage":{}}', 'expected a whole number from 0 to 1000000000 at usage.total_tokens'],
  ['null', 'null', 'expected a whole number'],
  ['a fraction', answer(1.5), 'expected a whole number'],
  ['less than nothing', answer(-1), 'expected a whole number'],
  ['text', answer('812'), 'expected a whole number'],
  [
    'too much',
    answer(2e9),
    'from 0 to 1000000000 at usage.total_tokens, got: 2000000000; count in a larger unit, such as kilobytes for bytes',
  ],
  ['no JSON', 'ok', 'expected an answer in JSON'],
  ['too long', answer(7).padEnd(1_048_577), 'expected an answer of at most 1048576 bytes'],
])('an answer with %s leaves the estimate, which is reported once', async (_, body, reason) => {
  const { result, settled, unsettled, again, origin } = await forwarded(body)
  expect(result.status).toBe(200)
  await again()
  expect(settled).toEqual([])
  expect(unsettled).toEqual([[origin, 'tokens', expect.stringContaining(reason)]])
})

test('a name that objects inherit is no field', async () => {
  const { settled, unsettled } = await forwarded('{"a":[]}', { settle: { tokens: 'a.constructor.length' } })
  expect([settled, unsettled.length]).toEqual([[], 1])
})

test('a part of an answer settles nothing, nor does an answer without a rule', async () => {
  expect((await forwarded(answer(1), { settle }, undefined, {}, 206)).settled).toEqual([])
  expect((await forwarded(answer(1), {})).settled).toEqual([])
})

test('a header may say it, also beside a body that says nothing or is not kept', async () => {
  const rules = { tokens: { header: 'X-Tokens-Used' }, images: 'images' }
  const used = { 'x-tokens-used': '812' }
  const both = await forwarded('{"images":2}', { settle: rules }, undefined, used)
  expect(both.settled).toEqual([{ tokens: 812, images: 2 }])
  const one = await forwarded('no JSON', { settle: rules, maxResponseBytes: 0 }, undefined, used)
  expect(one.settled).toEqual([{ tokens: 812 }])
  expect(one.unsettled).toEqual([[one.origin, 'images', 'expected an answer in JSON']])
  const only = { settle: { tokens: rules.tokens } }
  const long = await forwarded(answer(1).padEnd(1_048_577), only, undefined, used)
  expect([long.settled, long.unsettled]).toEqual([[{ tokens: 812 }], []])
})

test.each(['', '1e3', '-1', '1.5', '0x10', '10000000000', 'many', '1, 2'])(
  'a header with %j leaves the estimate',
  async (value) => {
    const rules = { settle: { tokens: { header: 'x-tokens-used' } } }
    const { settled, unsettled, origin } = await forwarded('', rules, undefined, { 'x-tokens-used': value })
    expect(settled).toEqual([])
    const reason = 'expected a whole number from 0 to 1000000000 in the header x-tokens-used'
    expect(unsettled).toEqual([[origin, 'tokens', reason]])
  },
)

test('a header that comes twice, or not at all, leaves the estimate', async () => {
  const rules = { settle: { tokens: { header: 'x-tokens-used' } } }
  const twice = { 'x-tokens-used': ['1', '2'] as unknown as string }
  for (const headers of [twice, {}]) {
    const { settled, unsettled } = await forwarded('', rules, undefined, headers)
    expect([settled, unsettled.length]).toEqual([[], 1])
  }
})

test('units that the limit does not count are left out', async () => {
  const onlyTokens: Settled = async (amounts) => {
    if ('images' in amounts) throw new UnknownUnitError('k', 'images', ['tokens'])
    return true
  }
  const rules = { tokens: 'usage.total_tokens', images: 'usage.total_tokens' }
  const { settled, unsettled } = await forwarded(answer(3), { settle: rules }, onlyTokens)
  expect(settled).toEqual([{ tokens: 3, images: 3 }, { tokens: 3 }])
  expect(unsettled).toEqual([])
})

test('a job completes though its store is away when it is settled', async () => {
  const { result, unsettled, origin } = await forwarded(answer(3), { settle }, async () => {
    throw new BackendUnavailableError('Redis is away')
  })
  expect(result.status).toBe(200)
  expect(unsettled).toEqual([[origin, 'tokens', 'Redis is away']])
})

test('what an answer says is free at once for the jobs behind it', async () => {
  const side = await farSide((response) => void response.end(answer(100)))
  const shaper = new Shaper('calls', { limits: { '*': '50, 100/s, 1000 tokens/hour 900 each' } })
  onTestFinished(() => shaper.close())
  const ended = new Promise<void>((resolve) => {
    const ids = new Set<string>()
    shaper.on('completed', ({ id }) => void (ids.add(id).size === 5 && resolve()))
  })
  shaper.work(forwarder(allowing(side.url, { settle })))
  const data = { method: 'GET', url: side.url }
  await shaper.enqueueMany(Array.from({ length: 5 }, () => ({ key: 'k', data, costs: { tokens: 600 } })))
  // Estimates alone would let one of them start in an hour.
  await ended
  expect(side.received.length).toBe(5)
})

test.each([
  { 'to kens': 'a' },
  { tokens: '' },
  { tokens: 'a..b' },
  { tokens: 'a.b.c.d.e.f.g.h.i' },
  { tokens: '$.a' },
  { tokens: { header: '' } },
  { tokens: { header: 'x tokens' } },
  { tokens: { header: 'x-tokens', path: 'a' } },
  JSON.parse('{"tokens": "a", "__proto__": "b"}'),
  Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`u${n}`, 'a'])),
])('the rule %j is refused', (rules) => {
  expect(() => forwarder({ allow: ['https://api.example.com'], settle: rules })).toThrow(
    /^forward: expected (?:each name in )?settle/,
  )
})
