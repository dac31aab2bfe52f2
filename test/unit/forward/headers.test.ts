import { expect, test } from 'vitest'
import { isVelvetRopeError } from '../../../src/core/errors.ts'
import { keyHeader } from '../../../src/forward/headers.ts'
import { allowing, farSide, forwarder, jobOf, rejection } from './forwarding.ts'

const NOT_FOR_JOBS = [
  'Host',
  'Content-Length',
  'Transfer-Encoding',
  'Connection',
  'Keep-Alive',
  'Upgrade',
  'TE',
  'Trailer',
  'Expect',
  'HTTP2-Settings',
  'Proxy-Authorization',
  'Proxy-Connection',
  'Idempotency-Key',
  'Accept-Encoding',
  'Shaper-Attempt',
  'Shaper-Key',
  'Shaper-Anything',
  'Webhook-Id',
  'Webhook-Timestamp',
  'Webhook-Signature',
  'Proxy',
  // Programs that make variables of headers take these for others.
  'content_length',
  'Transfer_Encoding',
  'content.length',
  'Idempotency_Key',
  'shaper_key',
  'webhook~id',
]

/** Headers that say where a request came from. */
const OF_PROXIES = [
  'Forwarded',
  'Via',
  'X-Forwarded',
  'X-Forwarded-For',
  'X-Forwarded-Host',
  'X-Forwarded-Proto',
  'X-Forwarded-Anything',
  'X_Forwarded_For',
  'x.forwarded.for',
  'X-Real-IP',
  'X_Real_IP',
  'Client-IP',
  'X-Client-IP',
  'X-Cluster-Client-IP',
  'True-Client-IP',
  'Fastly-Client-IP',
  'CF-Connecting-IP',
]

/** Headers that ask for a part of an answer, or for another encoding. */
const ALTERING = [
  'Range',
  'If-Range',
  'Request-Range',
  'Accept-Charset',
  'A-IM',
  'accept_charset',
  'IF_RANGE',
]

/** What is wrong with headers, and that nothing was sent. */
async function refusalOf(headers: Record<string, string>) {
  const side = await farSide()
  const forward = forwarder(allowing(side.url))
  const error = await rejection(forward(jobOf({ method: 'POST', url: `${side.url}/`, headers, body: 'x' })))
  expect(isVelvetRopeError(error, 'final'), String(error)).toBe(true)
  expect(side.received).toEqual([])
  return (error as Error).message
}

test.each(NOT_FOR_JOBS.flatMap((name) => [name, name.toLowerCase(), name.toUpperCase()]))(
  'a job may not set %s',
  async (name) => {
    const message = await refusalOf({ [name]: 'sesame' })
    expect(message).toMatch(
      /^forward: the header [a-z0-9-_.~]+ (belongs to the connection|is set by the forwarder) and/,
    )
    expect(message).not.toContain('sesame')
  },
)

test.each(OF_PROXIES)('a job may not say where its request came from: %s', async (name) => {
  expect(await refusalOf({ [name]: 'sesame' })).toBe(
    `forward: the header ${name.toLowerCase()} says where a request came from and cannot be set by a job`,
  )
})

test('the configuration may', async () => {
  const side = await farSide()
  const forward = forwarder(allowing(side.url, { headers: { [side.url]: { 'X-Forwarded-Proto': 'https' } } }))
  await forward(jobOf({ method: 'GET', url: `${side.url}/` }))
  expect(side.received[0]!.headers).toMatchObject({ 'x-forwarded-proto': 'https' })
})

test.each(ALTERING)('a job may set %s only where no secrets are added', async (name) => {
  const side = await farSide()
  const send = (headers: Record<string, string>) => {
    const forward = forwarder(allowing(side.url, { headers: { [side.url]: headers } }), {
      env: { KEY: 'sk_1' },
    })
    return forward(jobOf({ method: 'GET', url: `${side.url}/`, headers: { [name]: 'bytes=0-9' } }))
  }
  const error = await rejection(send({ 'x-tenant': `\${KEY}` }))
  expect(error).toMatchObject({ code: 'final' })
  expect((error as Error).message).toMatch(/cannot be set by a job where the configuration adds secrets/)
  expect(side.received).toEqual([])
  await send({ 'x-tenant': 'ours' })
  expect(side.received[0]!.headers).toMatchObject({ [name.toLowerCase()]: 'bytes=0-9' })
})

test.each(['X_API_KEY', 'access_token', 'X.Secret', 'Api_Key'])(
  'a job may not set a secret: %s',
  async (name) => {
    const message = await refusalOf({ [name]: 'sesame' })
    expect(message).toMatch(/ is a secret: expected in the headers of the configuration, got in a job$/)
  },
)

test('a header that looks like one of the configuration is not sent', async () => {
  const side = await farSide()
  const forward = forwarder(allowing(side.url, { headers: { [side.url]: { 'X-Tenant': 'ours' } } }))
  const headers = { X_Tenant: 'theirs', 'x-note': 'a' }
  await forward(jobOf({ method: 'GET', url: `${side.url}/`, headers }))
  const [{ headers: sent }] = side.received as [(typeof side.received)[0]]
  expect(sent).toMatchObject({ 'x-tenant': 'ours', 'x-note': 'a' })
  expect(sent).not.toHaveProperty('x_tenant')
  expect(await refusalOf({ 'X-Note': 'a', X_Note: 'b' })).toBe('forward: the header x_note occurs twice')
})

test.each([
  'a\r\nX-Evil: 1',
  'a\nX-Evil: 1',
  'a\rX-Evil: 1',
  'a\r\n\r\nGET /evil HTTP/1.1',
  'a\u0000b',
  'a\u007f',
  'a\u0001',
  'caf\u00e9',
  '\u560a\u560dX-Evil: 1',
  'a\u2028b',
  '\ud83d\ude00',
])('a value may not contain %j', async (value) => {
  const message = await refusalOf({ 'x-note': value })
  expect(message).toBe('forward: the header x-note contains a character that is not printable ASCII')
})

test.each([
  '',
  'a b',
  'a:',
  ':authority',
  'a\r\nx-evil',
  'a\n',
  'a\u0000',
  'a(b)',
  'a/b',
  'a"b',
  'a,b',
  'a;b',
  'a@b',
  '[a]',
  '\u017fet-x',
  'h\u00f6st',
  ' host',
  'host ',
])('a name may not be %j', async (name) => {
  expect(await refusalOf({ [name]: 'x' })).toMatch(/^forward: the header name ".*" is invalid$/)
})

test('a header named __proto__ is refused, and none is left out instead', async () => {
  expect(await refusalOf(JSON.parse('{"x-note": "a", "__proto__": "b"}'))).toBe(
    'forward: expected the header "__proto__" to be another name, got something else',
  )
})

test('letters that lower-case to ASCII are not accepted as ASCII', async () => {
  // The Kelvin sign becomes a k.
  expect(await refusalOf({ '\u212aeep-Alive': 'x' })).toMatch(
    'the header keep-alive belongs to the connection',
  )
})

test('a name may occur once, with 64 headers of 8192 characters at most', async () => {
  expect(await refusalOf({ 'X-Note': 'a', 'x-note': 'b' })).toBe('forward: the header x-note occurs twice')
  const many = Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`x-${index}`, 'a']))
  expect(await refusalOf(many)).toBe('forward: there are 65 headers, expected at most 64')
  expect(await refusalOf({ a: 'x'.repeat(8_193) })).toBe(
    'forward: the header a is longer than 8192 characters',
  )
})

test('headers of the job, then of the configuration, then of the forwarder are sent', async () => {
  const side = await farSide()
  const headers = { [side.url]: { Authorization: `Bearer \${KEY}`, 'X-Tenant': 'ours' } }
  const forward = forwarder(allowing(side.url, { headers }), { env: { KEY: 'sk_live_1' } })
  const given = {
    'X-Note': 'a\tb ~',
    'x-tenant': 'theirs',
    'X-Literal': `\${KEY}`,
    __proto_: 'x',
    constructor: 'y',
  }
  const data = { method: 'POST', url: `${side.url}/a/../b?c=d%20e#f`, headers: given, body: { a: 'ü' } }
  await forward(jobOf(data, { id: 'order-7', key: 'api/acme +1%', attempt: 3, fence: 17 }))
  const [{ rawHeaders, ...call }] = side.received as [(typeof side.received)[0]]
  expect(call).toMatchObject({ method: 'POST', path: '/b?c=d%20e', body: '{"a":"ü"}' })
  expect(call.headers).toEqual({
    host: new URL(side.url).host,
    connection: 'keep-alive',
    'content-length': '10',
    'user-agent': 'velvet-rope',
    'x-note': 'a\tb ~',
    // The configuration's, and once.
    authorization: 'Bearer sk_live_1',
    'x-tenant': 'ours',
    // Only the configuration refers to the environment.
    'x-literal': `\${KEY}`,
    __proto_: 'x',
    constructor: 'y',
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    'idempotency-key': 'api:order-7',
    'shaper-attempt': '3',
    'shaper-fence': '17',
    'shaper-key': 'api/acme%20+1%25',
  })
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase())
  expect(new Set(names).size).toBe(names.length)
})

test('headers of an origin go to that origin only', async () => {
  const [side, other] = [await farSide(), await farSide()]
  const settings = {
    allow: [side.url, other.url],
    allowPrivate: ['127.0.0.1'],
    headers: { [side.url]: { authorization: `\${KEY}` } },
  }
  const forward = forwarder(settings, { env: { KEY: 'sk_live_1' } })
  await forward(jobOf({ method: 'GET', url: `${other.url}/` }))
  await forward(jobOf({ method: 'GET', url: `${side.url}/` }))
  const sent = [...other.received, ...side.received].map(({ headers }) => headers.authorization)
  expect(sent).toEqual([undefined, 'sk_live_1'])
})

test('any key fits into a header', () => {
  expect(keyHeader('sms/+1%/ü/ /"é\u{1f600}')).toBe('sms/+1%25/%C3%BC/%20/"%C3%A9%F0%9F%98%80')
})

test.each(['Authorization', 'cookie', 'X-Api-Key', 'x-shop-access-token', 'client_secret'])(
  'a secret comes from the configuration, never from a job: %s',
  async (name) => {
    const message = await refusalOf({ [name]: 'sesame' })
    expect(message).toContain(`the header ${name.toLowerCase()} is a secret`)
    expect(message).not.toContain('sesame')
  },
)
