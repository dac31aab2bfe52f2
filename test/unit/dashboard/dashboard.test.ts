import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openDashboard } from '../../../src/http.ts'
import { Api, expectProblem, sha256 } from '../http/api.ts'
import { RawClient, serve } from '../http/raw-client.ts'
import { builtPage, HTML, SCRIPT } from './built-page.ts'

/** What Chromium sends for a typed address. */
const BROWSER = {
  Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
  'Sec-Fetch-Mode': 'navigate',
  'Sec-Fetch-Site': 'none',
}
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

const withPage = (options = {}) => new Api(undefined, { dashboard: openDashboard(builtPage()), ...options })

describe('the files of the page', () => {
  test('are those of the build, by their path, and no others', () => {
    const files = openDashboard(builtPage())!
    expect([...files.keys()].sort()).toEqual([
      '/',
      '/assets/index-3f2a.js',
      '/assets/index-77aa.css',
      '/icon.svg',
    ])
    expect(files.get('/')!.contentType).toBe('text/html; charset=utf-8')
    expect(Buffer.from(files.get('/')!.body).toString()).toBe(HTML)
    const etags = [...files.values()].map(({ etag }) => etag)
    expect(new Set(etags).size).toBe(4)
    for (const etag of etags) expect(etag).toMatch(/^"[\w-]{22}"$/)
  })

  test('are none where nothing was built', () => {
    const folder = builtPage()
    expect(openDashboard(join(folder, 'nowhere'))).toBeUndefined()
    rmSync(join(folder, 'index.html'))
    expect(openDashboard(folder)).toBeUndefined()
  })
})

describe('/', () => {
  test('is the page for a browser, under a policy that lets nothing else in', async () => {
    const answer = await withPage().raw('GET', '/?prefix=a&bucket=%3Cscript%3E', { headers: BROWSER })
    expect(answer.status).toBe(200)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-length': String(HTML.length),
      'content-security-policy': POLICY,
      'cache-control': 'no-cache',
      vary: 'Accept',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    })
    expect(await answer.text()).toBe(HTML)
  })

  test.each([
    undefined,
    '*/*',
    'application/json',
    'application/json, text/html;q=0.5',
    'text/html;q=0',
    'nonsense',
  ])('stays a page of links for a client that accepts %s', async (accept) => {
    const { headers, body } = await withPage().get('/', {
      headers: accept === undefined ? {} : { Accept: accept },
    })
    expect(body).toMatchObject({ name: 'velvet-rope', links: { events: '/v1/events' } })
    expect(headers.get('vary')).toBe('Accept')
    expect(headers.get('cache-control')).toBe('no-store')
  })

  test('is a page of links where there is no dashboard', async () => {
    const { body } = await new Api().get('/', { headers: BROWSER })
    expect(body).toMatchObject({ name: 'velvet-rope' })
  })

  test('is not sent again to a client that has it', async () => {
    const api = withPage()
    const etag = (await api.raw('GET', '/', { headers: BROWSER })).headers.get('etag')!
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await api.raw('GET', '/', { headers: { ...BROWSER, 'If-None-Match': known } })
      expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag])
      expect(again.headers.get('cache-control')).toBe('no-cache')
      expect(again.headers.get('content-security-policy')).toBe(POLICY)
    }
    const other = await api.raw('GET', '/', { headers: { ...BROWSER, 'If-None-Match': '"other"' } })
    expect(other.status).toBe(200)
  })

  test('and its files need no token, and show nothing; the data do', async () => {
    const tokens = [{ name: 't', sha256: sha256('t'), scopes: ['read'] as const, prefixes: [] }]
    const api = withPage({ tokens })
    expect((await api.raw('GET', '/', { headers: BROWSER })).status).toBe(200)
    expect((await api.raw('GET', '/assets/index-3f2a.js')).status).toBe(200)
    expect((await api.get('/v1/buckets')).status).toBe(401)
    expect((await api.get('/v1/session')).status).toBe(401)
  })

  test('opens also while there is more to do than can be done', async () => {
    const api = withPage({ lagMs: () => 9_999 })
    expect((await api.raw('GET', '/', { headers: BROWSER })).status).toBe(200)
    expect((await api.raw('GET', '/assets/index-3f2a.js')).status).toBe(200)
  })

  test('is absent in a process that reports only on itself', async () => {
    const api = withPage({ routes: 'system' })
    expect((await api.raw('GET', '/', { headers: BROWSER })).headers.get('content-type')).toBe(
      'application/json',
    )
    expect((await api.raw('GET', '/assets/index-3f2a.js')).status).toBe(404)
  })
})

describe('what the page loads', () => {
  test('may be kept for ever, as its name changes with it', async () => {
    const answer = await withPage().raw('GET', '/assets/index-3f2a.js', {
      headers: { 'Sec-Fetch-Site': 'same-origin' },
    })
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
    })
    expect(await answer.text()).toBe(SCRIPT)
  })

  test('is asked for anew where the name stays', async () => {
    const { headers } = await withPage().raw('GET', '/icon.svg')
    expect([headers.get('content-type'), headers.get('cache-control')]).toEqual(['image/svg+xml', 'no-cache'])
  })

  test.each([
    '/assets/',
    '/assets/index-0000.js',
    '/assets/notes.yaml',
    '/assets/link.js',
    '/assets/deeper/more.js',
    '/assets/%2e%2e%2f%2e%2e%2fsecret.js',
    '/assets/..%2f..%2fsecret.js',
    '/assets/%2Fetc%2Fpasswd',
    '/assets/__proto__',
    '/index.html',
    '/secret.js',
  ])('%s is not there', async (path) => {
    expectProblem(await withPage().get(path), 404, 'not-found')
  })

  test('is read once: what is written to the folder later is never answered', async () => {
    const folder = builtPage()
    const api = new Api(undefined, { dashboard: openDashboard(folder) })
    writeFileSync(join(folder, 'assets', 'index-3f2a.js'), 'changed')
    writeFileSync(join(folder, 'assets', 'new.js'), 'new')
    expect(await (await api.raw('GET', '/assets/index-3f2a.js')).text()).toBe(SCRIPT)
    expect((await api.raw('GET', '/assets/new.js')).status).toBe(404)
  })

  test('is not for pages of other sites, nor by a name that is not ours', async () => {
    const api = withPage()
    const crossSite = { headers: { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors' } }
    expectProblem(await api.get('/assets/index-3f2a.js', crossSite), 403, 'cross-site')
    expectProblem(await api.call('POST', '/', {}), 405, 'method-not-allowed')
    const client = await RawClient.to(await serve(api))
    client.send('GET / HTTP/1.1', 'Host: evil.example', 'Accept: text/html', 'Connection: close', '', '')
    expect(await client.closed()).toMatch(/^HTTP\/1\.1 421 /)
  })

  test.each([
    ['/', String(HTML.length)],
    ['/assets/index-3f2a.js', String(SCRIPT.length)],
  ])('answers HEAD of %s with the head alone, over a socket', async (path, length) => {
    const client = await RawClient.to(await serve(withPage()))
    client.send(`HEAD ${path} HTTP/1.1`, 'Host: localhost', 'Accept: text/html', 'Connection: close', '', '')
    const [head, body] = (await client.closed()).split('\r\n\r\n')
    expect(head).toMatch(/^HTTP\/1\.1 200 /)
    expect(head!.toLowerCase()).toContain(`content-length: ${length}`)
    expect(body).toBe('')
  })
})

test('a wrong option is reported', () => {
  expect(() => new Api(undefined, { dashboard: './dist' as never })).toThrow(
    'expected dashboard to be that of openDashboard',
  )
})
