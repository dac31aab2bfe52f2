import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  BackendUnavailableError,
  InvalidOptionsError,
  NoLimitError,
  UnfitRedisError,
} from '../../../src/index.ts'
import {
  Meter,
  type MeterOptions,
  type PoliceOptions,
  policeExpress,
  policeFastify,
  policeHono,
} from '../../../src/meter.ts'
import { VirtualClock } from '../../../src/testing.ts'
import { type Answer, type Asked, FRAMEWORKS } from './frameworks.ts'

const BY_ACCOUNT: PoliceOptions<Asked> = { key: ({ header }) => header('account') }
const ACME = { account: 'acme' }

/** A meter on virtual time. */
function metered(
  limits: MeterOptions['limits'] = { '*': '2, 1 per 1500ms' },
  more: Partial<MeterOptions> = {},
) {
  const clock = new VirtualClock()
  return { clock, meter: new Meter('api', { limits, clock, ...more }) }
}

/** One whose store answers as given. */
function failing(error: unknown): Meter {
  const fail = () => Promise.reject(error)
  const store = { fill: fail, read: fail, drain: fail, close: async () => undefined }
  return new Meter('api', { limits: { '*': '2, 1/s' }, store })
}

const fields = ({ headers }: Answer) =>
  ['ratelimit-policy', 'ratelimit', 'retry-after'].map((name) => headers.get(name))

describe.each(FRAMEWORKS)('on %s', (_, open) => {
  test('a request with room passes, and gets the remaining quota', async () => {
    const { meter } = metered()
    const { ask, runs } = await open([[meter, BY_ACCOUNT]])
    const answer = await ask(ACME)
    expect([answer.status, answer.body]).toEqual([200, 'done'])
    expect(fields(answer)).toEqual(['"*";q=2;w=3', '"*";r=1;t=2', null])
    expect(runs()).toBe(1)
  })

  test('a request without room gets 429 and the time to retry, and no handler runs; then it passes', async () => {
    const { clock, meter } = metered()
    const { ask, runs } = await open([[meter, BY_ACCOUNT]])
    await ask(ACME)
    await ask(ACME)
    const refused = await ask(ACME)
    expect(refused.status).toBe(429)
    expect(refused.headers.get('content-type')).toBe('application/problem+json')
    expect(JSON.parse(refused.body)).toEqual({
      type: 'urn:velvet-rope:problem:over-limit',
      title: 'Over the limit',
      status: 429,
      detail: 'there is room in 1500 ms',
      retryAfterMs: 1_500,
      'violated-policies': ['*'],
    })
    expect(fields(refused)).toEqual(['"*";q=2;w=3', '"*";r=0;t=2', '2'])
    expect(runs()).toBe(2)
    expect((await ask({ account: 'other' })).status).toBe(200)
    await clock.advance(1_500_000)
    expect((await ask(ACME)).status).toBe(200)
    expect((await ask(ACME)).status).toBe(429)
    expect(runs()).toBe(4)
  })

  test('an amount that can never fit gets 429 without a time to retry', async () => {
    const { meter } = metered()
    const amount = ({ header }: Asked) => Number(header('amount'))
    const { ask, runs } = await open([[meter, { ...BY_ACCOUNT, amount }]])
    const refused = await ask({ ...ACME, amount: '2.5' })
    expect(refused.status).toBe(429)
    expect(fields(refused)).toEqual(['"*";q=2;w=3', '"*";r=2;t=0', null])
    expect(JSON.parse(refused.body)).not.toHaveProperty('retryAfterMs')
    expect(runs()).toBe(0)
    const half = await ask({ ...ACME, amount: '0.5' })
    expect(fields(half)).toEqual(['"*";q=2;w=3', '"*";r=1;t=1', null])
    expect((await meter.level('acme')).level).toBe(0.5)
  })

  test('a request counts in quotas what `costs` says of it, and the one that refuses is named', async () => {
    const { clock, meter } = metered({ '*': '20, 20/s, 100 tokens/minute 20 each' })
    const costs = ({ header }: Asked) => {
      const tokens = header('tokens')
      return tokens === undefined ? undefined : { tokens: Number(tokens) }
    }
    const { ask, errors } = await open([[meter, { ...BY_ACCOUNT, costs }]])
    expect(fields(await ask({ ...ACME, tokens: '70' }))).toEqual([
      '"*";q=20;w=1, "* 100 tokens/minute";q=100;w=60;qu="tokens"',
      '"*";r=19;t=1, "* 100 tokens/minute";r=30;qu="tokens"',
      null,
    ])
    const refused = await ask({ ...ACME, tokens: '31' })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '61'])
    expect(JSON.parse(refused.body)).toMatchObject({
      detail: 'there is room in 61000 ms',
      'violated-policies': ['* 100 tokens/minute'],
    })
    expect(fields(await ask(ACME))[1]).toBe('"*";r=18;t=1, "* 100 tokens/minute";r=10;t=61;qu="tokens"')
    await clock.advance(61_000_000)
    expect((await ask({ ...ACME, tokens: '31' })).status).toBe(200)
    const never = await ask({ ...ACME, tokens: '101' })
    expect([never.status, never.headers.get('retry-after')]).toEqual([429, null])
    expect((await ask({ ...ACME, tokens: '0' })).status).toBe(500)
    expect(errors).toHaveLength(1)
    expect(errors[0]).toBeInstanceOf(InvalidOptionsError)
  })

  test('a request without a key is exempt', async () => {
    const { meter } = metered({ '*': '1, 1/s' })
    const { ask, runs } = await open([[meter, BY_ACCOUNT]])
    const answers = await Promise.all(Array.from({ length: 9 }, () => ask()))
    expect(answers.map(({ status }) => status)).toEqual(Array(9).fill(200))
    expect(fields(answers[0]!)).toEqual([null, null, null])
    expect(runs()).toBe(9)
  })

  test('of a hundred concurrent requests ten pass if there is room for ten', async () => {
    const { meter } = metered({ '*': '10, 1/h' })
    const { ask, runs } = await open([[meter, BY_ACCOUNT]])
    const answers = await Promise.all(Array.from({ length: 100 }, () => ask(ACME)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(90)
    expect(runs()).toBe(10)
  })

  test('while the store is unavailable all get 503, without the reason', async () => {
    const error = new BackendUnavailableError('redis://10.0.0.1 is away')
    const onUnavailable = vi.fn()
    const { ask, runs } = await open([[failing(error), { ...BY_ACCOUNT, onUnavailable }]])
    const refused = await ask(ACME)
    expect([refused.status, refused.headers.get('content-type')]).toEqual([503, 'application/problem+json'])
    expect(fields(refused)).toEqual([null, null, '1'])
    expect(JSON.parse(refused.body)).toMatchObject({
      type: 'urn:velvet-rope:problem:temporary-reduced-capacity',
      status: 503,
    })
    expect(refused.body).not.toContain('10.0.0.1')
    expect(onUnavailable).toHaveBeenCalledExactlyOnceWith(error)
    expect(runs()).toBe(0)
  })

  test('or, if so configured, all pass', async () => {
    const error = new BackendUnavailableError('away')
    const onUnavailable = vi.fn()
    const options = { ...BY_ACCOUNT, whenUnavailable: 'allow', onUnavailable } as const
    const { ask, runs } = await open([[failing(error), options]])
    const answer = await ask(ACME)
    expect([answer.status, answer.body]).toEqual([200, 'done'])
    expect(fields(answer)).toEqual([null, null, null])
    expect(onUnavailable).toHaveBeenCalledExactlyOnceWith(error)
    expect(runs()).toBe(1)
  })

  test('a closed meter counts as unavailable', async () => {
    const { meter } = metered()
    const { ask } = await open([[meter, BY_ACCOUNT]])
    await meter.close()
    expect((await ask(ACME)).status).toBe(503)
  })

  test.each([
    ['key', { key: () => Promise.reject(new Error('no key')) }, 'no key'],
    ['amount', { ...BY_ACCOUNT, amount: () => Promise.reject(new Error('no amount')) }, 'no amount'],
    [
      'key, at once',
      {
        key: () => {
          throw new Error('no key')
        },
      },
      'no key',
    ],
    ['an amount that is none', { ...BY_ACCOUNT, amount: () => Number.NaN }, 'expected amount to be a number'],
    ['a key that is none', { key: () => 'a\nb' }, 'expected the key to hold no control characters'],
  ] satisfies [string, PoliceOptions<Asked>, string][])(
    'an error of %s goes to the error handler, and nothing is run',
    async (_what, options, message) => {
      const { meter } = metered()
      const { ask, runs, errors } = await open([[meter, { ...options, whenUnavailable: 'allow' }]])
      expect((await ask(ACME)).status).toBe(500)
      expect(errors).toEqual([expect.objectContaining({ message: expect.stringContaining(message) })])
      expect(runs()).toBe(0)
    },
  )

  test.each([undefined, null, '', 'route', 'router', 0])(
    'a key or an amount that fails with %j, which frameworks may read as success, is an error',
    async (reason) => {
      const { meter } = metered({ '*': '1, 1/h' })
      const rejects = () => Promise.reject(reason)
      const throws = () => {
        throw reason
      }
      const all: PoliceOptions<Asked>[] = [
        { key: rejects },
        { key: throws },
        { ...BY_ACCOUNT, amount: rejects },
        { ...BY_ACCOUNT, amount: throws },
      ]
      for (const options of all) {
        const { ask, runs, errors } = await open([[meter, options]])
        expect((await ask(ACME)).status).toBe(500)
        expect(errors).toEqual([expect.objectContaining({ code: 'not-an-error', thrown: reason })])
        expect(runs()).toBe(0)
      }
      expect((await meter.level('acme')).level).toBe(0)
    },
  )

  test('a store that rejects with undefined is an error, too', async () => {
    const { ask, runs, errors } = await open([[failing(undefined), BY_ACCOUNT]])
    expect((await ask(ACME)).status).toBe(500)
    expect([errors, runs()]).toEqual([[expect.any(Error)], 0])
  })

  test('an undefined amount does not count as one', async () => {
    const { meter } = metered()
    const amount = () => undefined as unknown as number
    const { ask, runs, errors } = await open([[meter, { ...BY_ACCOUNT, amount }]])
    expect((await ask(ACME)).status).toBe(500)
    const message = 'expected amount to answer a number of units, 0 or more, got: undefined'
    expect(errors).toEqual([expect.objectContaining({ message: expect.stringContaining(message) })])
    expect([runs(), (await meter.level('acme')).level]).toEqual([0, 0])
  })

  test.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('of the listener')
      },
    ],
    ['rejects', () => Promise.reject(new Error('of the listener'))],
  ])(
    'an onUnavailable that %s causes a warning, and does not change the response',
    async (_how, onUnavailable) => {
      const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
      onTestFinished(() => warn.mockRestore())
      for (const [whenUnavailable, status] of [
        ['refuse', 503],
        ['allow', 200],
      ] as const) {
        const meter = failing(new BackendUnavailableError('away'))
        const { ask } = await open([[meter, { ...BY_ACCOUNT, whenUnavailable, onUnavailable }]])
        expect((await ask(ACME)).status).toBe(status)
      }
      expect(warn.mock.calls.map(([warning]) => warning)).toEqual(
        Array(2).fill(expect.objectContaining({ message: 'of the listener' })),
      )
    },
  )

  test('an unsuitable Redis counts as unavailable', async () => {
    const { ask, runs } = await open([[failing(new UnfitRedisError('it evicts')), BY_ACCOUNT]])
    expect([(await ask(ACME)).status, runs()]).toEqual([503, 0])
  })

  test('a key without a limit is not unlimited', async () => {
    const { meter } = metered({ known: '1, 1/s' })
    const { ask, runs, errors } = await open([[meter, { ...BY_ACCOUNT, whenUnavailable: 'allow' }]])
    expect((await ask(ACME)).status).toBe(500)
    expect(errors).toEqual([expect.any(NoLimitError)])
    expect(runs()).toBe(0)
  })

  test('the fields are optional; the time to retry is not', async () => {
    const { meter } = metered({ 'tenants/*': '1, 1/s' })
    const options = { key: ({ header }: Asked) => `tenants/${header('account')}`, headers: false }
    const { ask } = await open([[meter, options]])
    expect(fields(await ask(ACME))).toEqual([null, null, null])
    const refused = await ask(ACME)
    expect(fields(refused)).toEqual([null, null, '1'])
    expect(refused.body).not.toMatch(/tenants|acme/)
  })

  test('two policers each add their fields, and the first to refuse is the last to be asked', async () => {
    const { meter: small } = metered({ small: '1, 1/s' })
    const { meter: large } = metered({ large: '9, 1/s' })
    const { ask, runs } = await open([
      [large, { key: () => 'large' }],
      [small, { key: () => 'small' }],
    ])
    const sorted = (answer: Answer) =>
      fields(answer).map((field) => field?.split(', ').sort().join(', ') ?? null)
    expect(sorted(await ask())).toEqual([
      '"large";q=9;w=9, "small";q=1;w=1',
      '"large";r=8;t=1, "small";r=0;t=1',
      null,
    ])
    const refused = await ask()
    expect(refused.status).toBe(429)
    expect(sorted(refused)).toEqual([
      '"large";q=9;w=9, "small";q=1;w=1',
      '"large";r=7;t=1, "small";r=0;t=1',
      '1',
    ])
    expect([(await large.level('large')).level, (await small.level('small')).level]).toEqual([2, 1])
    expect(runs()).toBe(1)
  })
})

describe.each([
  ['policeHono', policeHono],
  ['policeExpress', policeExpress],
  ['policeFastify', policeFastify],
] satisfies [string, unknown][])('%s', (name, police) => {
  const make = police as unknown as (meter: unknown, options: unknown) => unknown

  test.each<[unknown, string]>([
    [{}, 'expected key to be a function, (request) => string | undefined, got: undefined'],
    [{ key: 'ip' }, 'expected key to be a function'],
    [{ key: () => 'k', amount: 2 }, 'expected amount to be a function'],
    [{ key: () => 'k', costs: { tokens: 2 } }, 'expected costs to be a function'],
    [{ key: () => 'k', whenUnavailable: 'open' }, 'expected whenUnavailable to be'],
    [{ key: () => 'k', header: true }, 'did you mean headers?'],
    [undefined, 'expected the options'],
  ])('rejects the options %o immediately', (options, message) => {
    expect(() => make(metered().meter, options)).toThrow(InvalidOptionsError)
    expect(() => make(metered().meter, options)).toThrow(new RegExp(`^${name}: `))
    expect(() => make(metered().meter, options)).toThrow(message)
  })

  test.each([undefined, null, 'api', {}, { key: () => 'k' }])('rejects %o as a meter', (meter) => {
    expect(() => make(meter, { key: () => 'k' })).toThrow(`${name}: expected a Meter and then options`)
  })
})
