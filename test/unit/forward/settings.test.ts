import { describe, expect, it, test } from 'vitest'
import { isVelvetRopeError } from '../../../src/core/errors.ts'
import { createForwardHandler } from '../../../src/forward/forward-handler.ts'
import { readPlan } from '../../../src/forward/plan.ts'
import type { ForwardSettings } from '../../../src/forward/settings.ts'

const API = 'https://api.example.com'
const SECRET = 'sesame-open-1'
const ENV = { KEY: SECRET, SHORT: 'abc', EMPTY: '', CRLF: `${SECRET}\r\nX-Evil: 1`, HOOK: `whsec_${SECRET}` }

function refusalOf(settings: unknown): string {
  try {
    createForwardHandler(settings as ForwardSettings, { env: ENV })
  } catch (error) {
    expect(isVelvetRopeError(error, 'invalid-options'), String(error)).toBe(true)
    return (error as Error).message
  }
  throw new Error('it was not refused')
}

const headers = (of: Record<string, string>, origin = API) => ({ allow: [API], headers: { [origin]: of } })

describe('settings', () => {
  it.each([
    [undefined, 'forward: expected the options to be an object, got: undefined'],
    [{}, 'forward: expected allow to be a list, got: undefined'],
    [{ allow: [] }, 'forward: expected allow to be one origin or more'],
    [{ allow: API }, 'forward: expected allow to be a list'],
    [{ alow: [API], allow: [API] }, 'unknown option "alow": did you mean allow?'],
    [{ allow: [API], timeoutMs: 0 }, 'expected timeoutMs to be'],
    [{ allow: [API], timeoutMs: 600_001 }, 'expected timeoutMs to be'],
    [{ allow: [API], timeoutMs: Number.POSITIVE_INFINITY }, 'expected timeoutMs to be'],
    [{ allow: [API], maxTimeoutMs: 0 }, 'expected maxTimeoutMs to be'],
    [{ allow: [API], maxTimeoutMs: 600_001 }, 'expected maxTimeoutMs to be'],
    [{ allow: [API], maxResponseBytes: -1 }, 'expected maxResponseBytes to be'],
    [{ allow: [API], maxResponseBytes: 16_777_217 }, 'expected maxResponseBytes to be'],
    [{ allow: [API], freezeMs: 0 }, 'expected freezeMs to be'],
    [{ allow: [API], freezeMs: 86_400_001 }, 'expected freezeMs to be'],
    [{ allow: [API], headers: { [API]: { a: 1 } } }, `expected headers.${API}.a to be a string`],
    [{ allow: [API], signing: {} }, 'expected signing.secret to be a string'],
    [{ allow: [API], signing: { secret: `\${HOOK}`, key: 'x' } }, 'unknown option "key" in signing'],
  ])('are rejected: %j', (settings, message) => {
    expect(refusalOf(settings)).toContain(message)
  })

  it.each([
    'api.example.com',
    '*',
    'https://*',
    'https://*.com',
    'https://*.example.*',
    'https://a.*.example.com',
    'https://api*.example.com',
    'https://**.example.com',
    'https://*.0.0.1',
    'https://api.example.com/v1',
    'https://api.example.com/?a',
    'https://api.example.com/#a',
    'https://api.example.com.',
    'ftp://api.example.com',
    'file:///etc',
    'https://',
    '',
  ])('allow no %j', (origin) => {
    expect(refusalOf({ allow: [API, origin] })).toBe(
      'forward: expected allow to be an origin such as https://api.example.com, without a path, ' +
        `got: ${JSON.stringify(origin)}`,
    )
  })

  it('show no user of an origin', () => {
    expect(refusalOf({ allow: [`https://user:${SECRET}@api.example.com`] })).toMatch(/got: one with a user$/)
  })

  it.each([
    ['https://API.example.com/', API],
    ['https://api.example.com:443', API],
    ['HTTPS://api.example.com:8443', `${API}:8443`],
    ['http://10.1', 'http://10.0.0.1'],
    ['https://*.example.com', 'https://*.example.com'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
  ])('allow %s as %s', (origin, expected) => {
    expect([...readPlan({ allow: [origin] }, {}).allowed]).toEqual([expected])
  })

  it.each([
    '',
    '*',
    '*.internal',
    'http://db',
    'db/',
    'db:0x50',
    'db:65536',
    'user@db',
    'a b',
    '[::1',
    '10.0.0.0/8',
    ':80',
  ])('name no private host %j', (host) => {
    expect(refusalOf({ allow: [API], allowPrivate: [host] })).toMatch(
      /^forward: expected allowPrivate to contain hosts such as db\.internal or 10\.0\.0\.7:8080, got: /,
    )
  })

  it('have defaults', () => {
    const { timeoutMs, maxTimeoutMs, maxResponseBytes, freezeMs } = readPlan({ allow: [API] }, {})
    expect([timeoutMs, maxTimeoutMs, maxResponseBytes, freezeMs]).toEqual([30_000, 60_000, 65_536, 1_000])
  })
})

describe('headers of an origin', () => {
  it.each([
    [
      headers({ Authorization: SECRET }),
      'headers of https://api.example.com, authorization, to refer to a variable',
    ],
    [headers({ authorization: `Bearer ${SECRET}` }), `authorization, to refer to a variable as \${NAME}`],
    [headers({ Cookie: SECRET }), 'cookie, to refer to a variable'],
    [headers({ 'X-API-Key': SECRET }), 'x-api-key, to refer to a variable'],
    [headers({ 'Private-Token': SECRET }), 'private-token, to refer to a variable'],
    [headers({ 'X-Client-Secret': SECRET }), 'x-client-secret, to refer to a variable'],
    [headers({ authorization: `\${MISSING}` }), 'expected the environment to have MISSING, which headers of'],
    [headers({ authorization: `\${EMPTY}` }), 'expected the environment to have EMPTY'],
    [headers({ 'x-a': `\${KEY` }), `x-a, to refer to variables as \${NAME}, got another form`],
    [headers({ authorization: `\${KEY}\${1A}` }), `to refer to variables as \${NAME}, got another form`],
    [headers({ 'x-a': `\${KEY:-${SECRET}}` }), `to refer to variables as \${NAME}, got another form`],
    [
      headers({ authorization: `\${CRLF}` }),
      'the header authorization contains a character that is not printable ASCII',
    ],
    [headers({ Host: 'a' }), 'headers of https://api.example.com: the header host belongs to the connection'],
    [headers({ 'Idempotency-Key': 'a' }), 'the header idempotency-key is set by the forwarder'],
    [headers({ 'a b': 'a' }), 'the header name "a b" is invalid'],
    [headers({ A: 'a', a: 'b' }), 'the header a occurs twice'],
    [headers({ X_API_KEY: SECRET }), 'x_api_key, to refer to a variable'],
    [headers({ content_length: '1' }), 'the header content_length belongs to the connection'],
    [headers({ Proxy: 'http://evil.test' }), 'the header proxy belongs to the connection'],
    [
      headers({ a: 'a' }, 'https://other.example'),
      'expected headers to be for an origin in allow, got: "https://other.example"; allow contains https://api.example.com',
    ],
    [headers({ a: 'a' }, `${API}/v1`), 'expected headers to be an origin'],
    [{ allow: [API], headers: { [API]: {}, [`${API}/`]: {} } }, 'headers has https://api.example.com twice'],
    [
      { allow: [API], signing: { secret: ENV.HOOK } },
      `expected signing.secret to refer to a variable as \${NAME}`,
    ],
    [
      { allow: [API], signing: { secret: `\${MISSING}` } },
      'expected the environment to have MISSING, which signing.secret',
    ],
    [
      { allow: [API], signing: { secret: `\${HOOK}` } },
      'expected the variable of signing.secret to be whsec_ and base64',
    ],
    [
      { allow: [API], signing: { secret: `${SECRET}\${KEY}` } },
      'expected the variable of signing.secret to be whsec_',
    ],
  ])('are rejected without showing secrets: %j', (settings, message) => {
    const refusal = refusalOf(settings)
    expect(refusal).toContain(message)
    expect(refusal).not.toContain('sesame')
  })

  test('refer to environment variables, which are read once', () => {
    const env: Record<string, string> = { KEY: `$& $1 ${SECRET}`, PART: 'b' }
    const plan = readPlan(headers({ 'X-A': `\${KEY} and \${PART}\${PART}`, 'X-B': 'plain $ {KEY}' }), env)
    env['KEY'] = 'changed'
    expect([...plan.headers.get(API)!]).toEqual([
      ['x-a', `$& $1 ${SECRET} and bb`],
      ['x-b', 'plain $ {KEY}'],
    ])
  })

  test('whose values are hidden, unless too short to be a secret', () => {
    const { secrets } = readPlan(headers({ a: `\${KEY}`, b: `\${SHORT}` }), ENV)
    expect(secrets.hide(`${SECRET}, abc`)).toBe(`${'*'.repeat(SECRET.length)}, abc`)
  })
})
