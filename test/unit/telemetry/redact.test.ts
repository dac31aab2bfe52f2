import { describe, expect, test } from 'vitest'
import { redactFields, redactText } from '../../../src/telemetry/redact.ts'

const SECRET = 'hunter2-that-is-secret'

describe('a text', () => {
  test.each([
    [`connect redis://user:${SECRET}@host:6379/0 failed`, 'connect redis://[redacted]@host:6379/0 failed'],
    [`rediss://:${SECRET}@host`, 'rediss://[redacted]@host'],
    [`redis://:a/b?c#${SECRET}@host`, 'redis://[redacted]@host'],
    [`redis://:a@${SECRET}@host`, 'redis://[redacted]@host'],
    [
      `https://${SECRET}@host/x and redis://:${SECRET}@h`,
      'https://[redacted]@host/x and redis://[redacted]@h',
    ],
    [`Authorization: Bearer ${SECRET}`, 'Authorization: [redacted]'],
    [`authorization: ${SECRET} and more`, 'authorization: [redacted]'],
    [`{"authorization":"${SECRET}","a":1}`, '{"authorization":"[redacted]","a":1}'],
    [`sent bearer ${SECRET}, got 401`, 'sent bearer [redacted], got 401'],
    ['Basic dXNlcjpwYXNz', 'Basic [redacted]'],
    [`GET /x?access_token=${SECRET}&a=1`, 'GET /x?access_token=[redacted]&a=1'],
    [`{"apiToken": "${SECRET}", "a": 1}`, '{"apiToken": "[redacted]", "a": 1}'],
    [`password=${SECRET} api_key=${SECRET}`, 'password=[redacted] api_key=[redacted]'],
    [`Set-Cookie: sid=${SECRET}; Path=/`, 'Set-Cookie: [redacted]'],
    [
      `ERR wrong number of arguments, with args beginning with: '${SECRET}' '\n${SECRET}'`,
      'ERR wrong number of arguments, with args beginning with: [redacted]',
    ],
  ])('%s', (text, expected) => {
    expect(redactText(text)).toBe(expected)
  })

  test.each([
    'redis://host:6379/0',
    'the bucket twilio/+1555 is full',
    'token: expected 1 to 256 characters',
    'a@b.c',
  ])('%s is not changed', (text) => {
    expect(redactText(text)).toBe(text)
  })

  test('that is long is cut, and no secret is cut in two', () => {
    expect(redactText('x'.repeat(5_000))).toBe(`${'x'.repeat(997)}...`)
    const text = `${'x'.repeat(960)} redis://user:${SECRET.repeat(5)}@host`
    expect(redactText(text)).not.toContain('hunter2')
    expect(redactText(text)).toContain('redis://[redacted]')
  })

  test.each([
    ['schemes', 'a://'.repeat(1_000_000)],
    ['letters', 'a'.repeat(4_000_000)],
    ['bearers', 'bearer '.repeat(500_000)],
    ['spaces', `authorization${' '.repeat(4_000_000)}`],
    ['passwords', 'password='.repeat(400_000)],
  ])('of megabytes of %s is not searched to its end', (_, text) => {
    // What reads all of it, and goes back for each letter, takes hours.
    expect(redactText(text).length).toBeLessThanOrEqual(1_000)
  })
})

describe('fields', () => {
  test.each([
    'password',
    'passwd',
    'redisPassword',
    'PASSPHRASE',
    'secret',
    'clientSecret',
    'token',
    'accessTokens',
    'authorization',
    'Proxy-Authorization',
    'cookie',
    'set-cookie',
    'apiKey',
    'x-api-key',
    'api_key',
    'credentials',
    'privateKey',
    'data',
    'Data',
    'payload',
    'body',
    'result',
    'returnvalue',
    'args',
    'command',
  ])('%s is hidden, wherever it is', (name) => {
    const fields = { [name]: SECRET, a: { [name]: [SECRET] }, list: [{ [name]: { deep: SECRET } }], rest: 1 }
    const copy = redactFields(fields)
    expect(JSON.stringify(copy)).not.toContain('hunter2')
    expect(copy).toMatchObject({ [name]: '[redacted]', a: { [name]: '[redacted]' }, rest: 1 })
  })

  test('of a job of BullMQ: its data and what it returned are hidden, its id is not', () => {
    const job = { id: '7_e1', name: 'j', data: { to: SECRET }, returnvalue: SECRET, opts: { attempts: 1 } }
    expect(redactFields({ job })).toEqual({
      job: { id: '7_e1', name: 'j', data: '[redacted]', returnvalue: '[redacted]', opts: { attempts: 1 } },
    })
  })

  test('an error is reduced to name, code and message', () => {
    const error = Object.assign(new Error('m'), {
      name: 'AbortError',
      message: `Command aborted by redis://:${SECRET}@host`,
      command: { name: 'evalsha', args: [SECRET] },
      job: { data: SECRET },
      previousErrors: [new Error(SECRET)],
      cause: new Error(SECRET),
      code: 'UNCERTAIN_STATE',
    })
    expect(redactFields({ error })).toEqual({
      error: {
        name: 'AbortError',
        code: 'UNCERTAIN_STATE',
        message: 'Command aborted by redis://[redacted]@host',
      },
    })
  })

  test('values that JSON cannot represent', () => {
    const fields = {
      big: 10n,
      date: new Date(0),
      url: new URL(`redis://u:${SECRET}@h/0`),
      not: Number.NaN,
      call: () => SECRET,
      symbol: Symbol('s'),
      nothing: undefined,
      bytes: Buffer.from(SECRET),
      map: new Map([[SECRET, SECRET]]),
      invalid: new Date(Number.NaN),
    }
    expect(JSON.parse(JSON.stringify(redactFields(fields)))).toEqual({
      big: '10',
      date: '1970-01-01T00:00:00.000Z',
      url: 'redis://[redacted]@h/0',
      not: null,
      bytes: '[...]',
      map: {},
      invalid: '[...]',
    })
  })

  test('that are circular or deep are cut', () => {
    const circle: Record<string, unknown> = { a: 1 }
    circle['self'] = circle
    const list: unknown[] = [circle]
    list.push(list)
    expect(redactFields({ circle, list })).toEqual({
      circle: { a: 1, self: '[...]' },
      list: [{ a: 1, self: '[...]' }, '[...]'],
    })
    const deep = { a: { a: { a: { a: { a: { a: SECRET } } } } } }
    expect(JSON.stringify(redactFields(deep))).toBe('{"a":{"a":{"a":{"a":{"a":"[...]"}}}}}')
    expect(redactFields({ twice: [deep, deep] })['twice']).toHaveLength(2)
  })

  test('that are huge are cut: each object, and in total', () => {
    const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`f${n}`, n]))
    expect(Object.keys(redactFields(wide))).toHaveLength(100)
    expect(redactFields({ list: Array(1_000_000).fill(1) })['list']).toHaveLength(100)
    let tree: unknown = 'leaf'
    for (let level = 0; level < 4; level++) tree = Array(100).fill(tree)
    expect(JSON.stringify(redactFields({ tree })).length).toBeLessThan(200_000)
  })

  test.each<[string, () => unknown]>([
    [
      'a getter that throws',
      () => ({
        get a() {
          throw new Error('no')
        },
      }),
    ],
    ['a proxy that refuses everything', () => refuses({})],
    ['a list that refuses everything', () => refuses([])],
    ['an error that refuses everything', () => refuses(new Error('m'))],
    ['a function that refuses everything', () => refuses(() => undefined)],
    [
      'a proxy that is gone',
      () => {
        const { proxy, revoke } = Proxy.revocable({}, {})
        revoke()
        return proxy
      },
    ],
    ['an error whose name is no text', () => Object.assign(new Error('m'), { name: Object.create(null) })],
    ['a date that lies', () => Object.assign(new Date(0), { toISOString: () => ({ data: SECRET }) })],
    ['an object without a prototype', () => Object.create(null)],
  ])('that are hostile do no harm: %s', (_, make) => {
    const copy = redactFields({ bad: make(), rest: 1 })
    expect(copy['rest']).toBe(1)
    expect(() => JSON.stringify(copy)).not.toThrow()
    expect(JSON.stringify(copy)).not.toContain('hunter2')
    expect(() => redactFields(make() as object)).not.toThrow()
  })

  test('with their own toJSON do not use it', () => {
    const copy = redactFields({ a: { toJSON: () => SECRET, b: 1 }, toJSON: () => SECRET })
    expect(JSON.stringify(copy)).toBe('{"a":{"b":1}}')
  })

  test('named __proto__ change nothing', () => {
    const copy = redactFields(JSON.parse('{"__proto__":{"a":1}}'))
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
    expect(Object.keys(copy)).toEqual(['__proto__'])
  })
})

function refuses(target: object): object {
  const no = () => {
    throw new Error('do not look')
  }
  return new Proxy(target, {
    get: no,
    has: no,
    ownKeys: no,
    getPrototypeOf: no,
    getOwnPropertyDescriptor: no,
  })
}
