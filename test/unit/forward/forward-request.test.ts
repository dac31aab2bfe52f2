import { describe, expect, it, test } from 'vitest'
import { isVelvetRopeError } from '../../../src/core/errors.ts'
import { forwardJudge } from '../../../src/forward/forward-judge.ts'
import { readForwardRequest } from '../../../src/forward/forward-request.ts'
import { readReach } from '../../../src/forward/plan.ts'

const ALLOW = ['https://api.example.com']
const URL_ = 'https://api.example.com/v1/messages?to=%2B1'
const read = (data: unknown) => readForwardRequest(data, readReach({ allow: ALLOW }))

function refusalOf(data: unknown): string {
  try {
    read(data)
  } catch (error) {
    expect(isVelvetRopeError(error, 'final')).toBe(true)
    return (error as Error).message
  }
  throw new Error('it was not refused')
}

describe('the data of a job', () => {
  it('become a request', () => {
    const headers = { 'X-Trace': 'a', Accept: 'text/*' }
    const request = read({ method: 'POST', url: URL_, headers, body: { a: [1, 'ü'] }, timeoutMs: 50 })
    expect({ ...request, url: request.url.href, headers: Object.fromEntries(request.headers) }).toEqual({
      method: 'POST',
      url: URL_,
      origin: 'https://api.example.com',
      headers: { 'x-trace': 'a', accept: 'text/*', 'content-type': 'application/json' },
      body: '{"a":[1,"ü"]}',
      timeoutMs: 50,
    })
  })

  it.each([
    ['a text goes out as it is, and its type is for the job to say', 'a=1', 'a=1', undefined],
    ['an empty text is a body', '', '', undefined],
    ['an array is JSON', [1], '[1]', 'application/json'],
    ['a number is JSON', 0, '0', 'application/json'],
    ['false is JSON', false, 'false', 'application/json'],
    ['null is JSON', null, 'null', 'application/json'],
    ['undefined is no body', undefined, undefined, undefined],
  ])('%s', (_, body, sent, type) => {
    const request = read({ method: 'PUT', url: URL_, body })
    expect([request.body, request.headers.get('content-type')]).toEqual([sent, type])
  })

  it('keep the content type that they give', () => {
    const request = read({
      method: 'PATCH',
      url: URL_,
      headers: { 'Content-Type': 'application/x' },
      body: {},
    })
    expect([...request.headers]).toEqual([['content-type', 'application/x']])
  })

  it.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'])('may ask for %s', (method) => {
    expect(read({ method, url: URL_ })).toMatchObject({ method, body: undefined })
  })

  it.each([
    [undefined, 'expected the data to be an object such as { method, url, headers?, body?, timeoutMs? }'],
    [null, 'expected the data to be an object such as'],
    ['sesame', 'expected the data to be an object such as'],
    [['sesame'], 'expected the data to be an object such as'],
    [{ url: URL_ }, 'expected method to be one of GET, POST, PUT, PATCH, DELETE, HEAD, got something else'],
    [{ method: 'sesame', url: URL_ }, 'expected method to be one of GET'],
    [{ method: 'get', url: URL_ }, 'expected method to be one of GET'],
    [{ method: 'CONNECT', url: URL_ }, 'expected method to be one of GET'],
    [{ method: 'TRACE', url: URL_ }, 'expected method to be one of GET'],
    [{ method: 'GET /sesame HTTP/1.1\r\n', url: URL_ }, 'expected method to be one of GET'],
    [{ method: 'GET' }, 'expected url to be an absolute http or https URL'],
    [{ method: 'GET', url: 7_777 }, 'expected url to be an absolute http or https URL'],
    [{ method: 'GET', url: 'sesame' }, 'expected url to be an absolute http or https URL'],
    [
      { method: 'GET', url: `${URL_}&sesame=${'x'.repeat(8_192)}` },
      'expected a url of at most 8192 characters',
    ],
    [{ method: 'GET', url: 'https://sesame:sesame@api.example.com/' }, 'expected a url without a user'],
    [{ method: 'GET', url: 'https://api.example.com/sesame sesame' }, 'expected a url without spaces'],
    [{ method: 'GET', url: 'https://evil.test/sesame' }, 'the origin "https://evil.test" is not allowed'],
    [{ method: 'GET', url: URL_, body: 'sesame' }, 'expected no body with GET, got one'],
    [{ method: 'HEAD', url: URL_, body: null }, 'expected no body with HEAD, got one'],
    [{ method: 'GET', url: URL_, headers: 'sesame' }, 'expected headers to be an object of names and texts'],
    [{ method: 'GET', url: URL_, headers: { a: 7_777 } }, 'expected the header "a" to be a text'],
    [{ method: 'GET', url: URL_, headers: { a: ['sesame'] } }, 'expected the header "a" to be a text'],
    [
      { method: 'GET', url: URL_, timeoutMs: 0 },
      'expected timeoutMs to be a whole number of milliseconds from 1 to 600000',
    ],
    [{ method: 'GET', url: URL_, timeoutMs: 600_001 }, 'expected timeoutMs to be a whole number'],
    [{ method: 'GET', url: URL_, timeoutMs: 1.5 }, 'expected timeoutMs to be a whole number'],
    [{ method: 'GET', url: URL_, timeoutMs: '7777' }, 'expected timeoutMs to be a whole number'],
    [
      { method: 'GET', url: URL_, data: 'sesame' },
      'unknown field "data": known are method, url, headers, body, timeoutMs',
    ],
    [{ method: 'GET', url: URL_, socketPath: '/sesame' }, 'unknown field "socketPath"'],
    [{ method: 'GET', url: URL_, dispatcher: {} }, 'unknown field "dispatcher"'],
  ])('are rejected: %j', (data, message) => {
    const refusal = refusalOf(data)
    expect(refusal).toContain(`forward: ${message}`)
    // It is logged, and what came is data of a user.
    expect(refusal).not.toMatch(/sesame|7.?777/)
    expect(refusal.length).toBeLessThan(200)
  })

  test('messages are bounded whatever the names and hosts', () => {
    const long = 'x'.repeat(5_000)
    for (const data of [
      { method: 'GET', url: URL_, [long]: 1 },
      { method: 'GET', url: URL_, headers: { [long]: 1 } },
      { method: 'GET', url: URL_, headers: { [long]: 'a' } },
      { method: 'GET', url: `https://${long}.test/` },
    ]) {
      expect(refusalOf(data).length).toBeLessThan(250)
    }
  })
})

describe('the time limit of a job', () => {
  const request = (timeoutMs: number) => ({ method: 'GET', url: URL_, timeoutMs })

  it.each([
    [{}, 60_000],
    [{ maxTimeoutMs: 100 }, 30_000],
    [{ maxTimeoutMs: 100, timeoutMs: 50 }, 100],
    [{ maxTimeoutMs: 50, timeoutMs: 100 }, 100],
    [{ maxTimeoutMs: 600_000 }, 600_000],
  ])('is with %j at most %i ms', (settings, longest) => {
    const fault = forwardJudge({ allow: ALLOW, ...settings })
    expect(fault(request(longest))).toBeUndefined()
    const longer = fault(request(longest + 1))
    expect(longer).toMatchObject({ path: ['timeoutMs'] })
    expect(longer?.detail).toMatch(`a whole number of milliseconds from 1 to ${longest}`)
  })

  test('is cut to the longest where the job was accepted before', () => {
    const reach = readReach({ allow: ALLOW, timeoutMs: 50, maxTimeoutMs: 100 })
    const cut = (timeoutMs: number) => readForwardRequest(request(timeoutMs), reach).timeoutMs
    expect([99, 100, 101, 600_000].map(cut)).toEqual([99, 100, 100, 100])
    expect(readForwardRequest({ method: 'GET', url: URL_ }, reach).timeoutMs).toBeUndefined()
  })
})
