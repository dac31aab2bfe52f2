import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { PassThrough, Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  Agent,
  Client,
  type Dispatcher,
  FormData,
  fetch,
  interceptors,
  MockAgent,
  request,
  upgrade,
} from 'undici'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type TurnOptions, turnInterceptor } from '../../../src/fetch.ts'
import { Stage } from '../../support/stage.ts'
import { farSide, type Received, rejection } from '../forward/forwarding.ts'

type Step = readonly [status: number, headers?: Record<string, string>]

/** A server that answers each path with these, one after the other, and then 200; requests wait on virtual time. */
async function staged(script: Record<string, Step[]> = {}, limits = '9, 1/s') {
  const stage = new Stage(limits)
  const side = await farSide((response, { path, body }) => {
    const [status, headers] = script[path]?.shift() ?? [200]
    response.writeHead(status, headers).end(`answer ${body}`)
  })
  const freezes: [key: string, forMs: number][] = []
  stage.shaper.on('frozen', ({ key, at, until }) => void freezes.push([key, until - at]))
  const agent = new Agent()
  onTestFinished(() => agent.destroy())
  const turns = (options: TurnOptions = {}) =>
    turnInterceptor(stage.shaper, { now: () => stage.now, ...options })
  /** Lets time pass as long as a request waits for its turn, and the network do its work, until it has settled. */
  const play = async <Value>(promise: Promise<Value>): Promise<Value> => {
    const watch = { isOver: false }
    const end = () => {
      watch.isOver = true
    }
    promise.then(end, end)
    while (!watch.isOver) {
      await stage.pass(0)
      if ((await stage.shaper.audit()).waiting > 0) await stage.pass(100)
    }
    return promise
  }
  const departures = () => stage.starts.map(([, ms]) => ms)
  return { stage, side, freezes, agent, turns, play, departures }
}

async function textOf({ statusCode, body }: Dispatcher.ResponseData): Promise<string> {
  return `${statusCode} ${await body.text()}`
}

const pathsOf = (received: readonly Received[]) => received.map(({ method, path }) => `${method} ${path}`)

describe('requests through an agent', () => {
  it('wait for their turn, in the line of their host, and their responses are passed on', async () => {
    const { stage, side, agent, turns, play, departures } = await staged()
    const dispatcher = agent.compose(turns())
    const answers = ['/1', '/2', '/3'].map((path) =>
      request(`${side.url}${path}`, { dispatcher, method: 'POST', body: path }).then(textOf),
    )
    expect(await play(Promise.all(answers))).toEqual(['200 answer /1', '200 answer /2', '200 answer /3'])
    expect(departures()).toEqual([0, 1_000, 2_000])
    expect(pathsOf(side.received)).toEqual(['POST /1', 'POST /2', 'POST /3'])
    expect((await stage.shaper.buckets()).buckets.map(({ key }) => key)).toEqual([`127.0.0.1:${side.port}`])
    await stage.conforms()
  })

  it('may be of fetch: that of undici, and that of Node through a dispatcher', async () => {
    const { stage, side, agent, turns, play, departures } = await staged({ '/2': [[429]] })
    const init = { dispatcher: agent.compose(turns({ key: 'k' })), method: 'POST', body: 'text' }
    const form = new FormData()
    form.set('field', 'value')
    const first = await play(fetch(`${side.url}/1`, { ...init, body: form }))
    expect(await first.text()).toContain('value')
    expect((await play(fetch(`${side.url}/2`, init))).status).toBe(429)
    const third = await play(globalThis.fetch(`${side.url}/3`, init as unknown as RequestInit))
    expect(await third.text()).toBe('answer text')
    expect(departures()).toEqual([0, 1_000, 2_000])
    await stage.conforms()
  })

  it('stream bodies in both directions, and may be upgraded', async () => {
    const { side, agent, turns, play } = await staged()
    const dispatcher = agent.compose(turns())
    const body = Readable.from(['a', 'b'])
    const streamed = await play(request(side.url, { dispatcher, method: 'PUT', body }))
    expect(await textOf(streamed)).toBe('200 answer ab')
    side.server.on('upgrade', (_, socket) => {
      socket.end('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n')
    })
    const { headers, socket } = await play(upgrade(side.url, { dispatcher, protocol: 'echo' }))
    expect(headers['upgrade']).toBe('echo')
    socket.destroy()
  })

  it('take key and cost from method, URL with query, and headers in every form', async () => {
    const { side, stage, agent, turns, play } = await staged()
    const seen: string[] = []
    const interceptor = turns({
      key: ({ method, url, headers }) => {
        seen.push(`${method} ${url.pathname}${url.search} ${headers.get('x-account')}`)
        return `account/${headers.get('x-account')}`
      },
      cost: ({ method }) => (method === 'POST' ? 3 : 1),
    })
    const calls: Parameters<Agent['request']>[0][] = [
      { path: '/a', method: 'POST', headers: { 'X-Account': 'one' } },
      { path: '//b', method: 'GET', headers: ['x-account', 'two', 'accept', 'text/plain'] },
      {
        path: '/c',
        method: 'GET',
        headers: new Map([['X-Account', 'three']]),
        query: { n: 1, m: ['x', 'y'] },
      },
      { path: '/d', method: 'GET', headers: { 'x-account': ['four', 'five'] } },
      { path: '/e', method: 'GET', headers: null },
    ]
    const origin = new URL(side.url)
    const dispatcher = agent.compose(interceptor)
    for (const call of calls) await (await play(dispatcher.request({ origin, ...call }))).body.dump()
    expect(seen).toEqual([
      'POST /a one',
      'GET //b two',
      'GET /c?n=1&m=x&m=y three',
      'GET /d four, five',
      'GET /e null',
    ])
    expect(await stage.shaper.forecast('account/one')).toMatchObject({ waitMs: 3_000 })
    expect(await stage.shaper.forecast('account/two')).toMatchObject({ waitMs: 1_000 })
  })

  it('of a single client need a key that is a string', async () => {
    const { side, turns, play } = await staged()
    const client = new Client(side.url)
    onTestFinished(() => client.destroy())
    const ask = (options?: TurnOptions) =>
      play(client.compose(turns(options)).request({ path: '/', method: 'GET' }))
    expect(await rejection(ask())).toMatchObject({
      code: 'invalid-options',
      message: expect.stringMatching(/got: a request without an origin$/),
    })
    expect(await textOf(await ask({ key: 'k' }))).toBe('200 answer ')
  })

  it('pass a response on, and freeze the key, even if the clock of the options fails', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(() => warn.mockRestore())
    const { side, agent, turns, play, freezes } = await staged({ '/1': [[429, { 'retry-after': '5' }]] })
    const failing = () => {
      throw new Error('no clock')
    }
    const dispatcher = agent.compose(turns({ key: 'k', now: failing }))
    expect(await textOf(await play(request(`${side.url}/1`, { dispatcher })))).toBe('429 answer ')
    expect(freezes).toEqual([['k', 5_000]])
    expect(warn.mock.calls).toEqual([[new Error('no clock')]])
  })

  it('wait before a mocked agent as well', async () => {
    const { stage, turns, play, departures } = await staged()
    const agent = new MockAgent()
    onTestFinished(() => agent.close())
    agent.disableNetConnect()
    agent.get('https://api.example').intercept({ path: '/' }).reply(200, 'mocked').times(2)
    const dispatcher = agent.compose(turns())
    for (let n = 0; n < 2; n++) {
      expect(await textOf(await play(request('https://api.example/', { dispatcher })))).toBe('200 mocked')
    }
    expect(departures()).toEqual([0, 1_000])
    await stage.conforms()
  })
})

describe('a request that gets no turn', () => {
  it('fails when the line is full, and nothing is sent', async () => {
    const { side, agent, turns, play } = await staged({}, '1, 1/s')
    const dispatcher = agent.compose(turns())
    const file = createReadStream(new URL(import.meta.url))
    const answers = [undefined, undefined, file].map((body) =>
      request(side.url, { dispatcher, method: 'POST', body }).then(
        () => 'sent',
        (error: { code: string }) => error.code,
      ),
    )
    expect(await play(Promise.all(answers))).toEqual(['sent', 'sent', 'turn-refused'])
    expect(file.destroyed).toBe(true)
    expect(side.received).toHaveLength(2)
  })

  it('releases its place when it is aborted, in any way', async () => {
    const { stage, side, agent, turns, play } = await staged()
    const dispatcher = agent.compose(turns())
    await play(request(side.url, { dispatcher }))
    const abort = new AbortController()
    const reason = new Error('no more')
    const { signal } = abort
    const answers = [
      request(side.url, { dispatcher, signal }),
      fetch(side.url, { dispatcher, signal }),
      request(side.url, { dispatcher, signal: AbortSignal.abort(reason) }),
    ].map(rejection)
    await stage.pass(10)
    expect((await stage.shaper.audit()).waiting).toBe(2)
    abort.abort(reason)
    expect(await Promise.all(answers)).toEqual([reason, reason, reason])
    expect((await stage.shaper.audit()).waiting).toBe(0)
    await stage.pass(9_000)
    expect(side.received).toHaveLength(1)
    await stage.conforms()
  })

  it('releases its place when its body fails meanwhile', async () => {
    const { stage, side, agent, turns, play } = await staged()
    const dispatcher = agent.compose(turns())
    await play(request(side.url, { dispatcher }))
    const body = new PassThrough()
    const failed = rejection(request(side.url, { dispatcher, method: 'POST', body }))
    await stage.pass(10)
    const reason = new Error('the disk is gone')
    body.destroy(reason)
    expect(await failed).toBe(reason)
    expect((await stage.shaper.audit()).waiting).toBe(0)
    await stage.pass(9_000)
    expect(side.received).toHaveLength(1)
  })

  it('fails in its turn when the agent was closed meanwhile', async () => {
    const { stage, side, agent, turns, play } = await staged()
    const dispatcher = agent.compose(turns())
    await (await play(request(side.url, { dispatcher }))).body.dump()
    const late = rejection(request(side.url, { dispatcher }))
    await stage.pass(10)
    await agent.close()
    expect(await play(late)).toMatchObject({ name: 'ClientDestroyedError' })
  })
})

describe('a request whose turn has come', () => {
  const reason = new Error('no more')

  it('can be aborted while it has no connection yet', async () => {
    const { stage, side, agent, turns } = await staged()
    const departed = new Promise((resolve) => void stage.shaper.on('departed', resolve))
    const { abort, signal } = newAbort()
    const refused = rejection(request(side.url, { dispatcher: agent.compose(turns()), signal }))
    await Promise.all([departed, stage.pass(0)])
    abort(reason)
    expect(await refused).toBe(reason)
  })

  it('can be aborted while it waits for its response, and during it', async () => {
    const { side, agent, turns, play } = await staged()
    side.server.removeAllListeners('request')
    const dispatcher = agent.compose(turns())
    const [waiting, coming] = [newAbort(), newAbort()]
    const asked = once(side.server, 'request')
    const unanswered = rejection(request(side.url, { dispatcher, signal: waiting.signal }))
    await play(asked)
    waiting.abort(reason)
    expect(await unanswered).toBe(reason)

    side.server.once('request', (_, response) => void response.write('part'))
    const { body } = await play(request(side.url, { dispatcher, signal: coming.signal }))
    coming.abort(reason)
    expect(await rejection(body.text())).toBe(reason)
  })

  it('respects backpressure of the reader', async () => {
    const { side, agent, turns, play } = await staged()
    side.server.removeAllListeners('request').on('request', (_, response) => {
      response.end(Buffer.alloc(4_000_000, 'x'))
    })
    const dispatcher = agent.compose(turns())
    const { body } = await play(request(side.url, { dispatcher }))
    let size = 0
    for await (const chunk of body) {
      size += (chunk as Buffer).length
      await nextTurn()
    }
    expect(size).toBe(4_000_000)
  })
})

describe('a response that asks to retry later', () => {
  it('freezes the key for as long as it says, for all later requests', async () => {
    const headers = { 'retry-after': '5' }
    const script: Record<string, Step[]> = { '/1': [[429, headers]], '/2': [[503, headers]] }
    const { stage, side, freezes, agent, turns, play, departures } = await staged(script)
    const dispatcher = agent.compose(turns({ key: 'k' }))
    for (const path of ['/1', '/2', '/3']) {
      await (await play(request(side.url + path, { dispatcher }))).body.dump()
    }
    expect(departures()).toEqual([0, 5_000, 10_000])
    expect(freezes).toEqual([
      ['k', 5_000],
      ['k', 5_000],
    ])
    await stage.conforms()
  })

  it('is retried by undici in its own turn, if retry is composed after', async () => {
    const { stage, side, agent, turns, play, departures } = await staged({ '/': [[429], [529]] })
    const retry = interceptors.retry({ minTimeout: 1, statusCodes: [429, 529] })
    const dispatcher = agent.compose(turns({ key: 'k', freezeMs: 3_000 }), retry)
    expect(await textOf(await play(request(side.url, { dispatcher })))).toBe('200 answer ')
    expect(departures()).toEqual([0, 3_000, 9_000])
    await stage.conforms()
  })

  it('is retried within its turn, if retry is composed before', async () => {
    const { side, agent, turns, play, departures } = await staged({ '/': [[500]] })
    const dispatcher = agent.compose(interceptors.retry({ minTimeout: 1 }), turns({ key: 'k' }))
    expect(await textOf(await play(request(side.url, { dispatcher })))).toBe('200 answer ')
    expect(side.received).toHaveLength(2)
    expect(departures()).toEqual([0])
  })
})

describe('redirects', () => {
  it.each([
    ['each wait for a turn, if they are composed after', true, [0, 1_000, 2_000]],
    ['go in one turn, if they were composed before', false, [0]],
  ])('%s', async (_, isAfter, expected) => {
    const script: Record<string, Step[]> = {
      '/1': [[307, { location: '/2' }]],
      '/2': [[303, { location: '/3' }]],
    }
    const { stage, side, agent, turns, play, departures } = await staged(script)
    const redirect = interceptors.redirect({ maxRedirections: 5 })
    const dispatcher = agent.compose(isAfter ? [turns(), redirect] : [redirect, turns()])
    const answer = await play(request(`${side.url}/1`, { dispatcher, method: 'POST', body: 'again' }))
    expect(await textOf(answer)).toBe('200 answer ')
    expect(pathsOf(side.received)).toEqual(['POST /1', 'POST /2', 'GET /3'])
    expect(departures()).toEqual(expected)
    await stage.conforms()
  })
})

function newAbort() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: (reason: Error) => controller.abort(reason) }
}
