import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { Api, expectProblem } from './api.ts'

const PATH = '/v1/buckets/k/jobs'
const GOOD = JSON.stringify({ data: 1 })

async function send(
  raw: NonNullable<RequestInit['body']>,
  headers: Record<string, string> = {},
  api = new Api(),
) {
  return api.call('POST', PATH, { raw, headers })
}

/** In chunks, and so without a length; counts how many were taken. */
function chunked(chunks: Iterable<Uint8Array>) {
  const iterator = chunks[Symbol.iterator]()
  const taken = { chunks: 0, isCancelled: false }
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const { done, value } = iterator.next()
        if (done) controller.close()
        else {
          taken.chunks++
          controller.enqueue(value)
        }
      },
      cancel() {
        taken.isCancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  return { stream, taken }
}

describe('the media type', () => {
  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json ; charset="utf-8"',
    'Application/JSON',
  ])('%s is taken', async (type) => {
    expect((await send(GOOD, { 'Content-Type': type })).status).toBe(202)
  })

  test.each([
    '',
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=latin1',
    'application/json; charset=utf-16',
    'application/json; charset=utf-8; charset=utf-7',
    'application/json, text/plain',
    'application/json;',
    'application/json; boundary=x',
    'application/json\tx',
    'application/jsonx',
    'application/problem+json',
    'application/vnd.api+json',
    ' application/json x',
  ])('%j is refused', async (type) => {
    const api = new Api()
    const answer = await send(GOOD, { 'Content-Type': type }, api)
    expectProblem(answer, 415, 'unsupported-media-type')
    expect(answer.headers.get('accept')).toBe('application/json')
    expect((await api.shaper.audit()).admitted).toBe(0)
  })

  test('may not be left out', async () => {
    const api = new Api()
    const answer = await api.app.request(PATH, { method: 'POST', body: new TextEncoder().encode(GOOD) })
    expect(answer.status).toBe(415)
    expect(await answer.json()).toMatchObject({
      detail: 'expected Content-Type to be application/json, got: none',
    })
  })

  test.each(['gzip', 'deflate', 'br', 'gzip, identity', 'x'])(
    'a body that is %s is refused',
    async (encoding) => {
      const bomb = gzipSync(Buffer.alloc(1_000_000, ' '))
      expectProblem(await send(bomb, { 'Content-Encoding': encoding }), 415, 'unsupported-media-type')
    },
  )

  test('a body that says identity is taken', async () => {
    expect((await send(GOOD, { 'Content-Encoding': 'identity' })).status).toBe(202)
  })
})

describe('the size', () => {
  const sized = (bytes: number) => `{"data":"${'x'.repeat(bytes - 11)}"}`

  test.each([
    [65_536, 202],
    [65_537, 413],
  ])('of %i bytes is answered with %i by default', async (bytes, status) => {
    const body = sized(bytes)
    expect(Buffer.byteLength(body)).toBe(bytes)
    expect((await send(body)).status).toBe(status)
    expect((await send(chunked([Buffer.from(body)]).stream)).status).toBe(status)
  })

  test('is counted in bytes, and can be set', async () => {
    const api = new Api(undefined, { bodyLimitBytes: 2_048 })
    expect((await send(`{"data":"${'\u00e9'.repeat(1_000)}"}`, {}, api)).status).toBe(202)
    expectProblem(await send(`{"data":"${'\u00e9'.repeat(1_020)}"}`, {}, api), 413, 'too-large')
  })

  test('of data that the line does not take is answered with 413, too', async () => {
    const api = new Api(undefined, { bodyLimitBytes: 4_000_000 })
    const detail = expect.stringContaining('at most 1048576 bytes')
    expectProblem(await send(sized(1_100_000), {}, api), 413, 'too-large', { detail })
  })

  test('that is said to be small is counted all the same', async () => {
    expectProblem(await send(sized(70_000), { 'Content-Length': '10' }), 413, 'too-large')
  })

  test('that is said to be too large is not read at all', async () => {
    const { stream, taken } = chunked([Buffer.from(GOOD)])
    expectProblem(await send(stream, { 'Content-Length': '65537' }), 413, 'too-large')
    expect(taken.chunks).toBe(0)
  })

  test('without an end is read no further than the limit', async () => {
    const endless = function* () {
      for (;;) yield Buffer.alloc(16_384, ' ')
    }
    const { stream, taken } = chunked(endless())
    expectProblem(await send(stream), 413, 'too-large')
    expect(taken).toEqual({ chunks: 5, isCancelled: true })
  })

  test('may come in the smallest pieces', async () => {
    const bytes = Buffer.from(JSON.stringify({ data: '\u{1f3ab}\u00e9' }))
    const { stream } = chunked([...bytes].map((byte) => Uint8Array.of(byte)))
    expect((await send(stream)).status).toBe(202)
  })

  test('of a body that breaks off is answered with 400', async () => {
    const broken = new ReadableStream({
      start: (controller) => controller.error(new Error('the client is gone')),
    })
    const errors: unknown[] = []
    const api = new Api(undefined, { onError: (error) => void errors.push(error) })
    expectProblem(await send(broken, {}, api), 400, 'bad-request')
    expect(errors).toEqual([])
  })
})

describe('a body', () => {
  test.each([
    '',
    ' ',
    '{',
    '{"data":1',
    '{"data":1}}',
    '{"data":1}\u0000',
    "{'data':1}",
    '{data:1}',
    '{"data":1,}',
    '{"data":NaN}',
    '{"data":Infinity}',
    '{"data":-Infinity}',
    '{"data":undefined}',
    '{"data":01}',
    '{"data":+1}',
    '{"data":.5}',
    '{"data":0x10}',
    '{"data":1n}',
    '{"data":"\n"}',
    '{"data":"\\x41"}',
    '{"data":"\\u12"}',
    '\ufeff\ufeff{"data":1}',
    '// comment\n{"data":1}',
    'data=1',
    '<data>1</data>',
    '[1,2',
    '"'.repeat(1_001),
  ])('%j is no JSON', async (raw) => {
    const api = new Api()
    const answer = await send(raw, {}, api)
    expectProblem(answer, 400, 'bad-request')
    expect((await api.shaper.audit()).admitted).toBe(0)
  })

  test.each([
    ['latin1', Buffer.from('{"data":"caf\u00e9"}', 'latin1')],
    ['utf-16', Buffer.from('{"data":1}', 'utf16le')],
    ['an overlong slash', Buffer.from([...Buffer.from('{"data":"'), 0xc0, 0xaf, 0x22, 0x7d])],
    ['half a character', Buffer.from([...Buffer.from('{"data":"'), 0xf0, 0x9f, 0x22, 0x7d])],
    ['an encoded surrogate', Buffer.from([...Buffer.from('{"data":"'), 0xed, 0xa0, 0x80, 0x22, 0x7d])],
  ])('of %s is no UTF-8', async (_, raw) => {
    expectProblem(await send(raw), 400, 'bad-request')
  })

  test.each(['null', '1', '"data"', '[]', '[{"data":1}]', 'true'])('%s is no object', async (raw) => {
    expectProblem(await send(raw), 422, 'invalid', { errors: [{ pointer: '#' }] })
  })

  test.each([
    ['{}', '#/data'],
    ['{"data":1,"id":"a b"}', '#/id'],
    ['{"data":1,"id":""}', '#/id'],
    [`{"data":1,"id":"${'x'.repeat(129)}"}`, '#/id'],
    ['{"data":1,"id":"../x"}', '#/id'],
    ['{"data":1,"id":"a:b"}', '#/id'],
    ['{"data":1,"id":5}', '#/id'],
    ['{"data":1,"cost":0}', '#/cost'],
    ['{"data":1,"cost":-1}', '#/cost'],
    ['{"data":1,"cost":1.5}', '#/cost'],
    ['{"data":1,"cost":"1"}', '#/cost'],
    ['{"data":1,"cost":null}', '#/cost'],
    ['{"data":1,"cost":1e10}', '#/cost'],
    ['{"data":1,"deadlineMs":0}', '#/deadlineMs'],
    ['{"data":1,"deadlineMs":1e15}', '#/deadlineMs'],
    ['{"data":1,"attempts":0}', '#/attempts'],
    ['{"data":1,"attempts":1001}', '#/attempts'],
    ['{"data":1,"backoff":{"type":"random","delayMs":1}}', '#/backoff/type'],
    ['{"data":1,"backoff":{"type":"fixed","delayMs":1,"x":1}}', '#/backoff/x'],
    ['{"data":1,"timeoutMs":-5}', '#/timeoutMs'],
    ['{"data":1,"key":"other"}', '#/key'],
    ['{"data":1,"traceparent":"x"}', '#/traceparent'],
    ['{"data":1,"constructor":{}}', '#/constructor'],
    ['{"data":1,"prototype":{}}', '#/prototype'],
    ['{"data":1,"a/b~c":1}', '#/a~1b~0c'],
    ['{"data":1,"\\ud800":1}', '#/%EF%BF%BD'],
    ['{"data":1,"caf\u00e9":1}', '#/caf%C3%A9'],
  ])('%s is invalid at %s', async (raw, pointer) => {
    const api = new Api()
    expectProblem(await send(raw, {}, api), 422, 'invalid', {
      errors: [{ detail: expect.stringMatching(/^(expected|unknown field|the field) /), pointer }],
    })
    expect((await api.shaper.audit()).admitted).toBe(0)
  })

  test('with a misspelt field gets the right one suggested', async () => {
    const { body } = await send('{"data":1,"deadlinems":5}')
    expect(body.errors).toEqual([
      { detail: 'unknown field "deadlinems": did you mean deadlineMs?', pointer: '#/deadlinems' },
    ])
  })

  test.each([
    ['{"data":{"__proto__":{"isAdmin":true}}}', '#/data/__proto__'],
    ['{"data":1,"__proto__":{"cost":5}}', '#/__proto__'],
    ['{"data":[{"a":{"__proto__":1}}]}', '#/data/0/a/__proto__'],
    ['{"data":1,"\\u005f_proto__":1}', '#/__proto__'],
  ])('%s cannot change a prototype', async (raw, pointer) => {
    expectProblem(await send(raw), 422, 'invalid', { errors: [{ pointer }] })
    expect(({} as Record<string, unknown>)['isAdmin']).toBeUndefined()
  })

  test.each([
    ['{"data":1e400}', '#/data'],
    ['{"data":[-1e400]}', '#/data/0'],
    [`{"data":${'9'.repeat(400)}}`, '#/data'],
  ])('%s holds a number beyond a double', async (raw, pointer) => {
    expectProblem(await send(raw), 422, 'invalid', { errors: [{ pointer }] })
  })

  test.each([
    '12345678901234567890',
    '9007199254740993',
    '-9007199254740993',
    '123456789012345678901234567890',
  ])('with the integer %s, which a double would change, is refused', async (number) => {
    expectProblem(await send(`{"data":{"account":[${number}]}}`), 422, 'invalid', {
      detail: expect.stringContaining(number),
    })
  })

  test.each([
    ['9007199254740992', 9007199254740992],
    ['1e300', 1e300],
    ['0.1234567890123456789', Number('0.1234567890123456789')],
    ['-0', 0],
    ['"12345678901234567890"', '12345678901234567890'],
    ['"\\"12345678901234567890"', '"12345678901234567890'],
    ['{"12345678901234567890":1}', { '12345678901234567890': 1 }],
    ['6.02214076e23', 6.02214076e23],
    ['"\\ud800"', '\ud800'],
    ['"\\u0000"', '\u0000'],
    ['{"constructor":{"prototype":1}}', { constructor: { prototype: 1 } }],
    ['{"a":1,"a":2}', { a: 2 }],
    ['{"toString":"x","valueOf":1}', { toString: 'x', valueOf: 1 }],
  ])('keeps the data %s', async (text, data) => {
    const api = new Api()
    const { status, body } = await send(`{"data":${text}}`, {}, api)
    expect([status, body.errors]).toEqual([202, undefined])
    const { data: kept } = (await api.get(`/v1/jobs/${body['id']}`)).body
    expect(kept).toEqual(data)
  })

  test('of which a field comes twice means the last, everywhere', async () => {
    const api = new Api()
    const { body } = await send('{"data":1,"cost":99,"cost":2,"data":{"n":2}}', {}, api)
    expect((await api.get(`/v1/jobs/${body['id']}`)).body).toMatchObject({ cost: 2, data: { n: 2 } })
  })

  // The body itself is the first level.
  test.each([
    [31, 202],
    [32, 422],
    [10_000, 422],
  ])('with data of %i levels is answered with %i', async (levels, status) => {
    const api = new Api()
    const lists = `{"data":${'['.repeat(levels)}${']'.repeat(levels)}}`
    const objects = `{"data":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`
    expect((await send(lists, {}, api)).status).toBe(status)
    expect((await send(objects, {}, api)).status).toBe(status)
  })
})
