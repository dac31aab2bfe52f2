import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { Agent, fetch as fetchOfUndici, request } from 'undici'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  type AnyFetch,
  shapedFetch,
  type TurnGiver,
  type TurnOptions,
  turnInterceptor,
} from '../../../src/fetch.ts'
import { InvalidOptionsError, UnknownUnitError, UnsettledError } from '../../../src/index.ts'
import { Stage } from '../../support/stage.ts'
import { farSide, rejection } from '../forward/forwarding.ts'

const BY_PATH = { tokens: 'usage.total_tokens' }
const BY_HEADER = { tokens: { header: 'X-Tokens-Used' } }
const usage = (tokens: unknown, rest = '') => JSON.stringify({ usage: { total_tokens: tokens }, rest })

interface Got {
  readonly status: number
  text(): Promise<string>
}

/**
 * Sends requests to a server of which each may take 60 of 100 tokens. It gives its place back when it has been settled, or keeps its
 * estimate.
 */
async function staged(
  through: string,
  settle: TurnOptions['settle'],
  respond: (response: ServerResponse, path: string) => void,
) {
  const stage = new Stage('9, 10/s, 100 tokens/hour 60 each, 1 at once')
  const { shaper } = stage
  const errors: Error[] = []
  shaper.on('error', (error) => void errors.push(error))
  let hear: () => void = () => undefined
  shaper.on('released', () => hear())
  const side = await farSide((response, { path }) => respond(response, path))
  const agent = new Agent()
  onTestFinished(() => agent.destroy())
  const options = { key: 'k', ...(settle && { settle }) }
  const shaped = shapedFetch(shaper, options)
  const dispatcher = agent.compose(turnInterceptor(shaper, options))
  const by: Record<string, (url: string) => Promise<Got>> = {
    shapedFetch: (url) => shaped(url),
    request: async (url) => {
      const { statusCode, body } = await request(url, { dispatcher })
      return { status: statusCode, text: () => body.text() }
    },
    'fetch of undici': (url) => fetchOfUndici(url, { dispatcher }),
  }
  /** Sends a request whose slot has come, and resolves when its response begins; `released`: when its place is free. */
  const begin = async (path = '/') => {
    const released = new Promise<void>((resolve) => {
      hear = resolve
    })
    await stage.pass(100)
    const answer = by[through]!(side.url + path)
    await stage.pass(0)
    return { answer, released }
  }
  const get = async (path?: string) => {
    const { answer, released } = await begin(path)
    const { status, text } = await answer.then(async (got) => ({
      status: got.status,
      text: await got.text(),
    }))
    await released
    return { status, text }
  }
  const used = async () => (await shaper.inspect('k'))?.quotas?.[0]?.used
  const taken = async () => (await shaper.inspect('k'))?.places?.taken
  return { stage, errors, side, begin, get, used, taken }
}

describe.each(['shapedFetch', 'request', 'fetch of undici'])('settle, through %s', (through) => {
  it('finds in the JSON of an answer what its request counted, and the next goes at once', async () => {
    const { stage, errors, get, used } = await staged(through, BY_PATH, (response) => response.end(usage(12)))
    expect(await get()).toEqual({ status: 200, text: usage(12) })
    expect(await used()).toBe(12)
    expect(await get()).toEqual({ status: 200, text: usage(12) })
    expect([await used(), errors]).toEqual([24, []])
    await stage.conforms()
  })

  it('finds it in a header', async () => {
    const { errors, get, used } = await staged(through, BY_HEADER, (response) => {
      response.writeHead(200, { 'x-tokens-used': '12' }).end('no JSON')
    })
    expect(await get()).toEqual({ status: 200, text: 'no JSON' })
    expect([await used(), errors]).toEqual([12, []])
  })

  it('reads answers that come compressed, and leaves units out that the limit does not count', async () => {
    const rules = { ...BY_PATH, images: 'usage.total_tokens' }
    const { errors, get, used } = await staged(through, rules, (response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(usage(12)))
    })
    await get()
    expect([await used(), errors]).toEqual([12, []])
  })

  it('asks a function of every answer', async () => {
    const seen: unknown[] = []
    const settle: TurnOptions['settle'] = async ({ status, headers, json }) => {
      seen.push([status, headers.get('X-Of'), json])
      if (status !== 200) return { tokens: 0 }
      const { input, output } = json as { input: number; output?: number }
      return output === undefined ? undefined : { tokens: input + output }
    }
    const { errors, get, used } = await staged(through, settle, (response, path) => {
      if (path === '/none') response.writeHead(404).end('gone')
      else
        response
          .writeHead(200, { 'x-of': path })
          .end(path === '/1' ? '{"input":5,"output":7}' : '{"input":5}')
    })
    await get('/1')
    expect(await used()).toBe(12)
    await get('/none')
    expect(await used()).toBe(12)
    await get('/2')
    expect(await used()).toBe(72)
    expect(seen).toEqual([
      [200, '/1', { input: 5, output: 7 }],
      [404, null, undefined],
      [200, '/2', { input: 5 }],
    ])
    expect(errors).toEqual([])
  })

  it('returns the answer at once, and keeps the place until its body has come', async () => {
    let finish: () => void = () => undefined
    const { begin, used, taken } = await staged(through, BY_PATH, (response) => {
      response.write('{"usage":{')
      finish = () => response.end('"total_tokens":12}}')
    })
    const { answer, released } = await begin()
    const got = await answer
    expect([await taken(), await used()]).toEqual([1, 60])
    finish()
    await released
    // The caller had not read anything yet.
    expect([await taken(), await used()]).toEqual([0, 12])
    expect(await got.text()).toBe('{"usage":{"total_tokens":12}}')
  })

  it.each([
    ['no JSON', 'yes', 'expected an answer in JSON'],
    ['no body', '', 'expected an answer in JSON'],
    ['no number', usage('many'), 'expected a whole number from 0 to 1000000000 at usage.total_tokens'],
    ['too much of it', usage(1, 'x'.repeat(1_048_576)), 'expected an answer of at most 1048576 bytes'],
  ])('leaves the estimate, and reports it once, where there is %s', async (_, body, reason) => {
    const { stage, errors, get, used } = await staged(through, BY_PATH, (response) => response.end(body))
    expect((await get()).text).toBe(body)
    expect(await used()).toBe(60)
    await stage.pass(3_700_000)
    await get()
    expect(errors).toEqual([expect.any(UnsettledError)])
    expect(errors[0]).toMatchObject({ code: 'unsettled', key: 'k', unit: 'tokens' })
    expect(errors[0]!.message).toContain(`a turn of the key "k" keeps its estimate in tokens: ${reason}`)
  })

  it.each([
    ['an error', 404, {}],
    ['a part', 206, {}],
    ['a part, of a range', 200, { 'content-range': 'bytes 0-9/100' }],
  ])('finds nothing by rules in an answer that is %s', async (_, status, headers) => {
    const { errors, get, used } = await staged(through, BY_PATH, (response) => {
      response.writeHead(status, headers).end(usage(12))
    })
    expect((await get()).status).toBe(status)
    expect([await used(), errors]).toEqual([60, []])
  })

  it('leaves the estimate of an answer that breaks off, whose caller gets that error', async () => {
    const { errors, begin, used, taken } = await staged(
      through,
      () => ({ tokens: 1 }),
      (response) => {
        response.writeHead(200, { 'content-length': '100' }).write('{"usage":')
        response.socket!.end()
      },
    )
    const { answer, released } = await begin()
    await rejection(answer.then((got) => got.text()))
    await released
    expect([await used(), await taken(), errors]).toEqual([60, 0, []])
  })

  it.each<[string, () => unknown, abstract new (...given: never[]) => Error]>([
    ['fails', () => Promise.reject(new RangeError('no usage')), RangeError],
    ['returns no amounts', () => ({ tokens: -1 }), InvalidOptionsError],
    ['returns another unit', () => ({ images: 1 }), UnknownUnitError],
  ])('is an error event if it %s, and the estimate stands', async (_, settle, type) => {
    const { errors, get, used } = await staged(through, settle as () => undefined, (response) =>
      response.end(usage(12)),
    )
    expect((await get()).text).toBe(usage(12))
    expect(errors).toEqual([expect.any(type)])
    expect(await used()).toBe(60)
  })
})

describe('the answers of a fetch', () => {
  const turns = (errors: unknown[]): TurnGiver => {
    const { shaper, clock } = new Stage('9, 10/s, 100 tokens/hour 60 each')
    return {
      acquire: async (key, options) => {
        const turn = shaper.acquire(key, options)
        await clock.advance(0)
        return turn
      },
      freeze: (key, forMs) => shaper.freeze(key, forMs),
      report: (error) => void errors.push(error),
    }
  }
  const answering = (body: string, more: object = {}) => ({
    fetch: (async () => ({
      status: 200,
      headers: new Headers({ 'x-tokens-used': '5' }),
      body,
      ...more,
    })) as AnyFetch,
  })
  const call = (fetch: AnyFetch) => fetch('https://a.example/' as never, {} as never)

  it('are not copied without need', async () => {
    const errors: unknown[] = []
    const clone = vi.fn()
    for (const settle of [undefined, BY_HEADER]) {
      const options = { key: 'k', ...answering('yes', { clone }), ...(settle && { settle }) }
      expect((await call(shapedFetch(turns(errors), options))).status).toBe(200)
    }
    expect([clone.mock.calls, errors]).toEqual([[], []])
  })

  it.each([
    ['have no method for it', {}, 'shapedFetch: expected the answers of fetch to have a method clone'],
    [
      'have been read',
      {
        clone: () => {
          throw new TypeError('read already')
        },
      },
      'read already',
    ],
  ])('that cannot be copied, because they %s, are returned all the same', async (_, more, message) => {
    const errors: Error[] = []
    const giver = turns(errors)
    const fetch = shapedFetch(giver, { key: 'k', settle: BY_PATH, ...answering('yes', more) })
    expect(await call(fetch)).toMatchObject({ body: 'yes' })
    await expect.poll(() => errors.map((error) => error.message)).toEqual([expect.stringContaining(message)])
  })

  it('are settled each where a request is sent again, in a place that the one before has left', async () => {
    const stage = new Stage('9, 10/s, 100 tokens/hour 60 each, 1 at once')
    const answers = [new Response('later', { status: 429 }), new Response(usage(12))]
    const settled: unknown[] = []
    stage.shaper.on('settled', ({ amounts }) => void settled.push(amounts))
    const fetch = shapedFetch(stage.shaper, {
      key: 'k',
      attempts: 2,
      settle: ({ status }) => ({ tokens: status === 429 ? 0 : 12 }),
      fetch: async (_: string) => answers.shift()!,
    })
    let text = ''
    void fetch('https://a.example/').then(async (answer) => {
      text = await answer.text()
    })
    await expect.poll(() => stage.pass(100).then(() => text)).toBe(usage(12))
    await expect.poll(() => settled).toEqual([{ tokens: 0 }, { tokens: 12 }])
    await stage.conforms()
  })

  it('that say nothing are a warning, where the turns come from what reports no errors', async () => {
    const warned = new Promise((resolve) => {
      vi.spyOn(process, 'emitWarning').mockImplementation(resolve)
    })
    const { acquire, freeze } = turns([])
    const far = async (_: string) => new Response('no JSON')
    const fetch = shapedFetch({ acquire, freeze }, { key: 'k', settle: BY_PATH, fetch: far })
    expect(await (await fetch('https://a.example/')).text()).toBe('no JSON')
    expect(await warned).toBeInstanceOf(UnsettledError)
  })
})

it.each([
  [5, "settle to be rules such as { tokens: 'usage.total_tokens' } or a function of the answer, got: 5"],
  [{ tokens: 'a..b' }, 'settle.tokens to be names of fields with . between them'],
  [{ 'to kens': 'a' }, 'each name in settle to be a name of 1 to 32 letters'],
  [{ tokens: { header: 'x tokens' } }, 'settle.tokens to be names of fields'],
])('the rule %j is refused', (settle, message) => {
  const { shaper } = new Stage('9, 10/s')
  const options = { settle } as TurnOptions
  expect(() => shapedFetch(shaper, options)).toThrow(`shapedFetch: expected ${message}`)
  expect(() => turnInterceptor(shaper, options)).toThrow(`turnInterceptor: expected ${message}`)
})
