import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type AnyFetch, type FetchOptions, shapedFetch } from '../../../src/fetch.ts'
import { DepartedTurn } from '../../../src/line/turn.ts'
import { Stage } from '../../support/stage.ts'

interface Sent {
  readonly ms: number
  readonly url: string
  readonly body: string
}

type Step = number | { readonly status: number; readonly headers: Record<string, string> } | Error

/** A fetch on virtual time that answers these, one after the other, and then 200. */
function staged(steps: Step[] = [], limits: ConstructorParameters<typeof Stage>[0] = '9, 1/s') {
  const stage = new Stage(limits)
  const sent: Sent[] = []
  const freezes: [key: string, ms: number, forMs: number][] = []
  stage.shaper.on('frozen', ({ key, at, until }) => void freezes.push([key, at, until - at]))
  const far = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init)
    sent.push({ ms: stage.now, url: request.url, body: await request.text() })
    const step = steps.shift() ?? 200
    if (step instanceof Error) throw step
    const { status, headers } = typeof step === 'number' ? { status: step, headers: {} } : step
    return new Response(`answer ${sent.length}`, { status, headers })
  }
  const open = (options: FetchOptions<typeof far> = {}) =>
    shapedFetch(stage.shaper, { fetch: far, now: () => stage.now, ...options })
  return { stage, sent, freezes, open, times: () => sent.map(({ ms }) => ms) }
}

/** What came of it: a status and a body, or the code or name of an error; and when. */
async function outcome(stage: Stage, answer: Promise<Response>): Promise<[what: string, ms: number]> {
  const what = await answer.then(
    async (response) => `${response.status} ${await response.text()}`,
    (error: Error & { code?: unknown }) => (typeof error.code === 'string' ? error.code : error.name),
  )
  return [what, stage.now]
}

const URL_A = 'https://a.example/x'

describe('a fetch that waits for its turn', () => {
  it('sends one request per interval, in order, and returns the responses', async () => {
    const { stage, sent, open } = staged()
    const fetch = open()
    const answers = ['1', new URL(`${URL_A}2`), new Request(`${URL_A}3`)].map((input, index) =>
      outcome(stage, fetch(index === 0 ? `${URL_A}1` : input, { method: 'POST', body: `b${index + 1}` })),
    )
    await stage.pass(5_000)
    expect(sent).toEqual([
      { ms: 0, url: `${URL_A}1`, body: 'b1' },
      { ms: 1_000, url: `${URL_A}2`, body: 'b2' },
      { ms: 2_000, url: `${URL_A}3`, body: 'b3' },
    ])
    expect((await Promise.all(answers)).map(([what]) => what)).toEqual([
      '200 answer 1',
      '200 answer 2',
      '200 answer 3',
    ])
    await stage.conforms()
  })

  it('has a line for each host, with its port', async () => {
    const { stage, sent, open } = staged()
    const fetch = open()
    const urls = [
      'https://a.example/1',
      'https://a.example:443/2',
      'https://a.example:8443/',
      'http://[::1]:80/',
    ]
    for (const url of urls) void fetch(url)
    await stage.pass(0)
    expect(sent.map(({ url }) => url)).toEqual([urls[0], urls[2], 'http://[::1]/'])
    const { buckets } = await stage.shaper.buckets({ sort: 'key' })
    expect(buckets.map(({ key }) => key)).toEqual(['[::1]', 'a.example', 'a.example:8443'])
  })

  it('takes key and cost from a function of the request, or one key for all', async () => {
    const { stage, open, times } = staged()
    const byAccount = open({
      key: ({ headers }) => `api/${headers.get('x-account')}`,
      cost: ({ method, url }) => (method === 'POST' && url.pathname === '/heavy' ? 3 : 1),
    })
    const headers = { 'X-Account': 'acme' }
    void byAccount('https://a.example/heavy', { method: 'post', headers })
    void byAccount(new Request('https://b.example/', { headers }))
    void byAccount(new Request('https://b.example/', { headers }), { headers: [['x-account', 'globex']] })
    await stage.pass(4_000)
    expect(times()).toEqual([0, 0, 3_000])
    const forAll = open({ key: 'account' })
    for (const url of ['https://a.example/', 'https://b.example/']) void forAll(url)
    await stage.pass(4_000)
    expect(times().slice(3)).toEqual([4_000, 5_000])
  })

  it('waits in one line with the jobs of its key', async () => {
    const { stage, open, times } = staged()
    stage.shaper.work(() => undefined)
    await stage.fill('k', 2)
    void open({ key: 'k' })(URL_A)
    await stage.pass(3_000)
    expect(times()).toEqual([2_000])
    await stage.conforms()
  })

  it('rejects when there is no turn, or not in time, and sends nothing', async () => {
    const { stage, sent, open } = staged([], { '*': '1, 1/s', long: '9, 1/s' })
    const [fetch, inTime] = [open(), open({ key: 'long', timeoutMs: 500 })]
    const answers = [inTime(URL_A), inTime(URL_A), fetch(URL_A), fetch(URL_A), fetch(URL_A)].map((answer) =>
      outcome(stage, answer),
    )
    await stage.pass(3_000)
    expect((await Promise.all(answers)).map(([what]) => what)).toEqual([
      '200 answer 1',
      'turn-refused',
      '200 answer 2',
      '200 answer 3',
      'turn-refused',
    ])
    expect(sent).toHaveLength(3)
  })

  it('releases its place when its signal is aborted, in the request or the options', async () => {
    const { stage, open, times } = staged()
    const fetch = open()
    const [one, other] = [new AbortController(), new AbortController()]
    void fetch(URL_A)
    const answers = [
      fetch(URL_A, { signal: one.signal }),
      fetch(new Request(URL_A, { signal: other.signal })),
      fetch(new Request(URL_A, { signal: other.signal }), { signal: null }),
      fetch(URL_A, { signal: AbortSignal.abort(new Error('no more')) }),
    ].map((answer) => outcome(stage, answer))
    await stage.pass(0)
    one.abort()
    other.abort()
    await stage.pass(5_000)
    expect((await Promise.all(answers)).map(([what]) => what)).toEqual([
      'AbortError',
      'AbortError',
      '200 answer 2',
      'Error',
    ])
    expect(times()).toEqual([0, 1_000])
    await stage.conforms()
  })

  it('rejects an invalid URL, as fetch does, without taking a turn', async () => {
    const { stage, open } = staged()
    expect(await outcome(stage, open()('/relative'))).toEqual(['ERR_INVALID_URL', 0])
    expect((await stage.shaper.audit()).admitted).toBe(0)
  })

  it.each([null, undefined, 42])('rejects %s, which cannot be an address, with any key', async (given) => {
    const { stage, sent, open } = staged()
    for (const fetch of [open(), open({ key: 'k' })]) {
      await expect(fetch(given as unknown as string)).rejects.toMatchObject({
        code: 'invalid-options',
        message: `shapedFetch: expected a URL or a Request, got: ${given}`,
      })
    }
    expect((await stage.shaper.audit()).admitted).toBe(0)
    expect(sent).toEqual([])
  })

  it('sends URLs without a host immediately, unless a key is given', async () => {
    const { stage, sent, freezes, open } = staged([429, 429], '1, 1/s')
    const urls = ['data:,x', 'blob:nodedata:1', 'file:///x', 'about:blank']
    const answers = urls.map((url) => outcome(stage, open({ attempts: 2 })(url)))
    expect((await Promise.all(answers)).map(([what]) => what.slice(0, 3))).toEqual([
      '429',
      '429',
      '200',
      '200',
    ])
    expect(sent.map(({ url }) => url)).toEqual(urls)
    expect(freezes).toEqual([])
    expect((await stage.shaper.audit()).admitted).toBe(0)
    void open({ key: 'k' })('data:,x')
    await stage.pass(0)
    expect((await stage.shaper.audit()).admitted).toBe(1)
    expect(await outcome(stage, open({ key: ({ url }) => url.host })('data:,x'))).toEqual(['invalid-key', 0])
  })

  it('sends through the current global fetch', async () => {
    const { stage } = staged()
    const fetch = shapedFetch(stage.shaper, { key: 'k' })
    const answer = fetch('data:,hello').then((response) => response.text())
    await stage.pass(0)
    expect(await answer).toBe('hello')
  })
})

describe('a response that asks to retry later', () => {
  it.each([429, 503, 529])(
    'of %i is returned, and freezes the key for as long as it says',
    async (status) => {
      const { stage, freezes, open, times } = staged([{ status, headers: { 'retry-after': '5' } }])
      const fetch = open()
      const answers = [fetch(URL_A), fetch(URL_A), fetch('https://b.example/')].map((a) => outcome(stage, a))
      await stage.pass(9_000)
      expect(times()).toEqual([0, 0, 5_000])
      expect(freezes).toEqual([['a.example', 0, 5_000]])
      expect((await Promise.all(answers))[0]).toEqual([`${status} answer 1`, 0])
      await stage.conforms()
    },
  )

  it('has frozen the key before its caller gets it', async () => {
    const { stage, open, times } = staged([{ status: 429, headers: { ratelimit: '"q";r=0;t=3' } }])
    const fetch = open()
    void fetch(URL_A).then(() => fetch(URL_A))
    await stage.pass(9_000)
    expect(times()).toEqual([0, 3_000])
  })

  it('freezes for longer each time if it does not say how long, and starts over after a success', async () => {
    const { stage, freezes, open } = staged([429, 429, 500, 429, 404, 429])
    const fetch = open({ freezeMs: 100, maxFreezeMs: 300 })
    for (let n = 0; n < 6; n++) void fetch(URL_A)
    await stage.pass(9_000)
    expect(freezes.map(([, , forMs]) => forMs)).toEqual([100, 200, 300, 100])
  })

  it('is bounded, and may be one of other statuses', async () => {
    const { stage, freezes, open } = staged([429, { status: 420, headers: { 'retry-after': '9999' } }])
    const fetch = open({ freezeOn: [420], maxFreezeMs: 60_000 })
    const asked: unknown[] = []
    stage.shaper.on('frozen', ({ askedMs }) => void asked.push(askedMs))
    for (let n = 0; n < 2; n++) void fetch(URL_A)
    await stage.pass(9_000)
    expect(freezes).toEqual([['a.example', 1_000, 60_000]])
    expect(asked).toEqual([9_999_000])
  })

  it('is returned even if the key could not be frozen', async () => {
    const turns = {
      acquire: async () =>
        new DepartedTurn({ key: 'k', cost: 1, departedAt: 0, waitedMs: 0, fence: 1 }, undefined),
      freeze: async () => Promise.reject(new Error('away')),
    }
    const fetch = shapedFetch(turns, { fetch: async (_: string) => new Response('later', { status: 429 }) })
    expect(await (await fetch(URL_A)).text()).toBe('later')
  })

  it('is returned, and freezes the key, even if the clock of the options fails', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(() => warn.mockRestore())
    const { stage, freezes, open } = staged([{ status: 429, headers: { 'retry-after': '5' } }])
    const failing = () => {
      throw new Error('no clock')
    }
    const answer = outcome(stage, open({ now: failing })(URL_A))
    await stage.pass(0)
    expect(await answer).toEqual(['429 answer 1', 0])
    expect(freezes).toEqual([['a.example', 0, 5_000]])
    expect(warn.mock.calls).toEqual([[new Error('no clock')]])
  })
})

describe('attempts', () => {
  const later = { status: 429, headers: { 'retry-after': '2' } }

  it('send a request again in a new turn, at the end of the line, until it succeeds', async () => {
    const { stage, sent, open } = staged([later, later])
    const fetch = open({ attempts: 3 })
    const answers = ['1', '2', '3'].map((body) => outcome(stage, fetch(URL_A, { method: 'POST', body })))
    await stage.pass(20_000)
    expect(sent.map(({ ms, body }) => `${ms} ${body}`)).toEqual([
      '0 1',
      '2000 2',
      '4000 3',
      '5000 1',
      '6000 2',
    ])
    expect((await Promise.all(answers)).map(([what]) => what)).toEqual([
      '200 answer 4',
      '200 answer 5',
      '200 answer 3',
    ])
    await stage.conforms()
  })

  it('end with the last response, or when a request fails', async () => {
    const { stage, open, times } = staged([later, later, new TypeError('fetch failed')])
    const answer = outcome(stage, open({ attempts: 2 })(URL_A))
    await stage.pass(9_000)
    expect((await answer)[0]).toBe('429 answer 2')
    const failed = outcome(stage, open({ attempts: 2 })(URL_A))
    await stage.pass(9_000)
    expect((await failed)[0]).toBe('TypeError')
    expect(times()).toEqual([0, 2_000, 9_000])
  })

  it('send the body of a Request again, and a stream once', async () => {
    const { stage, sent, open } = staged([later, later, later])
    const fetch = open({ attempts: 2 })
    const post = { method: 'POST', body: 'of a request' }
    const request = new Request(URL_A, post)
    const stream = new Blob(['stream']).stream()
    const first = outcome(stage, fetch(request))
    await stage.pass(9_000)
    expect((await first)[0]).toBe('429 answer 2')
    const replaced = outcome(stage, fetch(new Request(URL_A, post), { body: stream, duplex: 'half' }))
    const iterable = (async function* () {
      yield new TextEncoder().encode('pieces')
    })()
    const pieces = outcome(stage, fetch(URL_A, { method: 'POST', body: iterable, duplex: 'half' }))
    await stage.pass(9_000)
    expect([(await replaced)[0], (await pieces)[0]]).toEqual(['429 answer 3', '200 answer 4'])
    expect(sent.map(({ body }) => body)).toEqual(['of a request', 'of a request', 'stream', 'pieces'])
    expect(request.bodyUsed).toBe(true)
  })

  it('return the last response if there is no further turn', async () => {
    const { stage, open, times } = staged([later], '9, 1/s')
    const answer = outcome(stage, open({ attempts: 5, timeoutMs: 1_000 })(URL_A))
    await stage.pass(9_000)
    expect((await answer)[0]).toBe('429 answer 1')
    expect(times()).toEqual([0])
  })

  it('stop when the signal is aborted while they wait', async () => {
    const { stage, open, times } = staged([later])
    const abort = new AbortController()
    const answer = outcome(stage, open({ attempts: 5 })(URL_A, { signal: abort.signal }))
    await stage.pass(1_000)
    abort.abort()
    await stage.pass(9_000)
    expect((await answer)[0]).toBe('AbortError')
    expect(times()).toEqual([0])
    await stage.conforms()
  })
})

it('rejects invalid options', () => {
  const { stage, open } = staged()
  const refusing = (options: object) => () => open(options)
  expect(refusing({ key: 7 })).toThrow('shapedFetch: expected key to be a key or a function that returns one')
  expect(refusing({ key: '' })).toThrow('expected the key to be 1 to 256 bytes, got: 0')
  expect(refusing({ cost: 0 })).toThrow('shapedFetch: expected cost to be')
  expect(refusing({ attempt: 2 })).toThrow('unknown option "attempt": did you mean attempts?')
  expect(refusing({ attempts: 0 })).toThrow('expected attempts to be a number, at least 1')
  expect(refusing({ freezeOn: [200] })).toThrow('expected freezeOn.0 to be a number, at least 400')
  expect(refusing({ fetch: 'fetch', now: 1 })).toThrow('shapedFetch: expected now to be a function')
  const notOne = { fetch: 'fetch' } as unknown as { fetch: AnyFetch }
  expect(() => shapedFetch(stage.shaper, notOne)).toThrow('shapedFetch: expected fetch to be a function')
})
