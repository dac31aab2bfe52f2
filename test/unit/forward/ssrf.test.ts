import net, { isIP, type LookupFunction } from 'node:net'
import tls from 'node:tls'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { isVelvetRopeError } from '../../../src/core/errors.ts'
import { allowing, farSide, forwarder, jobOf, rejection } from './forwarding.ts'
import { ADDRESSES, ALLOWED, ELSEWHERE, NAMES, NEVER, UNREADABLE } from './ssrf-corpus.ts'

const ALLOW = ['http://api.example.com', 'https://*.example.org']

interface Dialled {
  readonly host: string
  readonly port: number | string
  readonly servername?: string
  readonly lookup: LookupFunction
}

/** Every address that a socket was asked to try. */
let reached: string[] = []
let port = 0

/** In the place of the network: looks a name up as a socket does, and leads every connection to the far side. */
function dial({ host, lookup }: Dialled): net.Socket {
  const socket = new net.Socket()
  const connect = () => socket.connect(port, '127.0.0.1')
  if (isIP(host) !== 0) {
    reached.push(host)
    return connect()
  }
  lookup(host, { all: true }, (error, found) => {
    if (error !== null) return void socket.destroy(error)
    reached.push(...(found as { address: string }[]).map(({ address }) => address))
    connect()
  })
  return socket
}

beforeEach(async () => {
  reached = []
  port = (await farSide()).port
  vi.spyOn(net, 'connect').mockImplementation(((options: Dialled) => dial(options)) as typeof net.connect)
  // No handshake here: that it gets as far as this is what matters.
  vi.spyOn(tls, 'connect').mockImplementation(((options: Dialled) => {
    const socket = dial(options)
    socket.once('connect', () => socket.emit('secureConnect'))
    return socket
  }) as typeof tls.connect)
})
afterEach(() => void vi.restoreAllMocks())

const originOf = (url: string) => new URL(url).origin

async function refusalOf(
  url: string,
  allow: string[],
  resolved: readonly string[] = [],
  allowPrivate: string[] = [],
) {
  const classes: string[] = []
  const forward = forwarder(
    { allow, allowPrivate },
    { resolve: async () => resolved, onResponse: (statusClass) => void classes.push(statusClass) },
  )
  const error = await rejection(forward(jobOf({ method: 'GET', url })))
  expect(isVelvetRopeError(error, 'final'), String(error)).toBe(true)
  expect(reached, url).toEqual([])
  expect(classes).toEqual([])
  return (error as Error).message
}

test('there are 200 attacks and more, all different', () => {
  const resolved = NAMES.map(([name, found]) => `${name} is ${found}`)
  const named = NEVER.map(([name, found]) => `allowPrivate has ${name}, which is ${found}`)
  const attacks = [
    ...UNREADABLE,
    ...ELSEWHERE,
    ...ADDRESSES.map((url) => `allow has ${url}`),
    ...resolved,
    ...named,
  ]
  expect(new Set(attacks).size).toBe(attacks.length)
  expect(attacks.length).toBeGreaterThanOrEqual(200)
})

describe('rejected without a connection', () => {
  test.each(UNREADABLE)('by how it is written: %j', async (url) => {
    const message = await refusalOf(url, ALLOW)
    expect(message).toMatch(/^forward: expected (a )?url (without|to be an absolute)/)
    // Nothing of a URL that may hold a password is shown.
    expect(message).not.toMatch(/password|evil|127/)
  })

  test.each(ELSEWHERE)('by the allow-list: %j', async (url) => {
    expect(await refusalOf(url, ALLOW, ['93.184.215.14'])).toMatch(
      /^forward: the origin "http.*" is not allowed$/,
    )
  })

  test.each(ADDRESSES)('by the address: %j', async (url) => {
    const message = await refusalOf(url, [originOf(url)])
    expect(message).toMatch(/^(?:forward: )?expected [\w.:[\]-]+ to have public addresses only, got another/)
  })

  test.each(NAMES)('by what the name resolves to: %s is %j', async (name, resolved) => {
    for (const scheme of ['http', 'https']) {
      const url = `${scheme}://${name}/`
      const message = await refusalOf(url, [originOf(url)], resolved)
      expect(message).toMatch(/to have public addresses only, got another/)
      // A job that tries names one after the other learns nothing about a network.
      for (const address of resolved.filter((found) => found !== '' && !name.includes(found))) {
        expect(message).not.toContain(address)
      }
    }
  })

  test.each(NEVER)('even if allowPrivate lists it: %s is %j', async (name, resolved) => {
    const url = `http://${name}/`
    const message = await refusalOf(url, [originOf(url)], resolved, [name])
    expect(message).toMatch(/to have public addresses only, got another$/)
  })
})

describe('allowed', () => {
  test.each(ALLOWED)('$url reaches $reached', async ({ url, reached: expected, resolved = [] }) => {
    const forward = forwarder({ allow: [originOf(url)] }, { resolve: async () => resolved })
    expect(await forward(jobOf({ method: 'GET', url }))).toMatchObject({ status: 200, body: 'ok' })
    expect(reached).toEqual(expected)
  })

  test('a wildcard permits one label, and its host is checked like any other', async () => {
    const answers: Record<string, string[]> = { 'a.example.org': ['8.8.8.8'], 'b.example.org': ['127.0.0.1'] }
    const forward = forwarder({ allow: ALLOW }, { resolve: async (name) => answers[name] ?? [] })
    await forward(jobOf({ method: 'GET', url: 'https://a.example.org/' }))
    expect(reached).toEqual(['8.8.8.8'])
    const refused = forward(jobOf({ method: 'GET', url: 'https://b.example.org/' }))
    await expect(refused).rejects.toThrow('public addresses only')
    expect(reached).toEqual(['8.8.8.8'])
  })

  test.each<[url: string, named: string, expected: string[]]>([
    ['http://db.internal/', 'db.internal', ['10.0.0.7']],
    ['http://db.internal:5000/', 'db.internal:5000', ['10.0.0.7', 'fd12::7']],
    ['http://db.internal/', 'DB.internal:80', ['8.8.8.8', '192.168.0.1']],
    ['https://db.internal/', 'db.internal:443', ['100.64.0.1']],
    ['http://127.0.0.1:9/', '127.1', ['127.0.0.1']],
    ['http://[::1]:9/', '::1', ['::1']],
    ['http://[fd12::7]/', '[FD12::7]:80', ['fd12::7']],
  ])('%s, private, because allowPrivate has %s', async (url, named, expected) => {
    const forward = forwarder(
      { allow: [originOf(url)], allowPrivate: [named] },
      { resolve: async () => expected },
    )
    await forward(jobOf({ method: 'GET', url }))
    expect(reached).toEqual(expected)
  })

  test.each<[url: string, named: string]>([
    ['http://db.internal:81/', 'db.internal:80'],
    ['http://other.internal/', 'db.internal'],
    ['http://a.db.internal/', 'db.internal'],
  ])('%s is not private by %s', async (url, named) => {
    await refusalOf(url, [originOf(url)], ['10.0.0.7'], [named])
  })
})

describe('a name that changes', () => {
  test('is resolved once per connection, and the socket gets the checked addresses', async () => {
    const answers = [['8.8.8.8'], ['127.0.0.1'], ['169.254.169.254']]
    const asked: string[] = []
    const resolve = async (name: string) => {
      asked.push(name)
      return answers[asked.length - 1]!
    }
    const forward = forwarder({ allow: ['http://rebind.test'] }, { resolve })
    expect(await forward(jobOf({ method: 'GET', url: 'http://rebind.test/' }))).toMatchObject({ status: 200 })
    expect({ asked, reached }).toEqual({ asked: ['rebind.test'], reached: ['8.8.8.8'] })
  })

  test('is checked again for the next connection', async () => {
    const side = await farSide((response) => void response.setHeader('connection', 'close').end())
    port = side.port
    const answers = [['8.8.8.8'], ['127.0.0.1']]
    let asked = 0
    const forward = forwarder({ allow: ['http://rebind.test'] }, { resolve: async () => answers[asked++]! })
    const call = () => forward(jobOf({ method: 'GET', url: 'http://rebind.test/' }))
    await call()
    await expect(call()).rejects.toThrow('public addresses only')
    expect({ asked, reached }).toEqual({ asked: 2, reached: ['8.8.8.8'] })
    expect(side.received).toHaveLength(1)
  })

  test('that is not found is retried, since it may be found later', async () => {
    const lost = Object.assign(new Error('queryA ENOTFOUND secret'), { code: 'ENOTFOUND' })
    const forward = forwarder({ allow: ALLOW }, { resolve: () => Promise.reject(lost) })
    const error = await rejection(forward(jobOf({ method: 'GET', url: 'http://api.example.com/' })))
    expect(error).toMatchObject({
      code: 'request-failed',
      message: 'GET http://api.example.com failed: ENOTFOUND',
    })
    const nowhere = forwarder({ allow: ALLOW }, { resolve: async () => [] })
    await expect(nowhere(jobOf({ method: 'GET', url: 'http://api.example.com/' }))).rejects.toThrow(
      'ENOTFOUND',
    )
    expect(reached).toEqual([])
  })
})

test('TLS uses the name in the URL, and only HTTP/1.1', async () => {
  const forward = forwarder({ allow: ['https://api.example.com'] }, { resolve: async () => ['8.8.8.8'] })
  await forward(jobOf({ method: 'GET', url: 'https://api.example.com/' }))
  const [options] = vi.mocked(tls.connect).mock.calls[0]! as unknown as [Record<string, unknown>]
  expect(options).toMatchObject({
    servername: 'api.example.com',
    host: 'api.example.com',
    ALPNProtocols: ['http/1.1'],
  })
  expect(options['rejectUnauthorized']).not.toBe(false)
})

test('a proxy from the environment is not used', async () => {
  vi.restoreAllMocks()
  const [proxy, side] = [await farSide(), await farSide()]
  const names = [
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'ALL_PROXY',
    'http_proxy',
    'https_proxy',
    'all_proxy',
    'NODE_USE_ENV_PROXY',
  ]
  for (const name of names) vi.stubEnv(name, name.startsWith('NODE') ? '1' : proxy.url)
  const env = Object.fromEntries(names.map((name) => [name, proxy.url]))
  const forward = forwarder(allowing(side.url), { env })
  await forward(jobOf({ method: 'GET', url: `${side.url}/` }))
  vi.unstubAllEnvs()
  expect([proxy.received.length, side.received.length]).toEqual([0, 1])
})
