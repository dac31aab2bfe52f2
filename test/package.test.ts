import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const COMPILER = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

/** A project that has installed what `npm pack` would publish, with the dependencies of this checkout. */
const project = mkdtempSync(join(tmpdir(), 'velvet-rope-package-'))
const installed = join(project, 'node_modules', 'velvet-rope')

beforeAll(async () => {
  mkdirSync(installed, { recursive: true })
  cpSync(join(ROOT, 'package.json'), join(installed, 'package.json'))
  for (const name of Object.keys(manifest.dependencies)) {
    const place = join(project, 'node_modules', name)
    mkdirSync(dirname(place), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules', name), place, 'dir')
  }
  symlinkSync(join(ROOT, 'node_modules', '@types'), join(project, 'node_modules', '@types'), 'dir')
  const build = [COMPILER, '-p', 'tsconfig.build.json', '--outDir', join(installed, 'dist')]
  await run(process.execPath, build, { cwd: ROOT }).catch((error: { stdout: string }) => {
    throw new Error(error.stdout)
  })
  await run(process.execPath, [join(ROOT, 'tools/copy-lua.mjs'), join(installed, 'dist'), '--bare'])
})

afterAll(() => rmSync(project, { recursive: true }))

async function node(...args: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, args, { cwd: project })
  return stdout.trim()
}

/** What the compiler has to say of a user's file. */
async function compile(name: string, text: string): Promise<string> {
  writeFileSync(join(project, name), text)
  const flags = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2023', '--types', 'node']
  const said = await run(process.execPath, [COMPILER, ...flags, name], { cwd: project }).catch(
    (error: { stdout: string }) => error,
  )
  return said.stdout
}

/** Files that a document links to. */
function linksOf(path: string): string[] {
  const text = readFileSync(join(ROOT, path), 'utf8')
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!.replace(/#.*/, ''))
  return links.filter((link) => link !== '' && !/^[a-z]+:/.test(link))
}

describe('the package as it is published', () => {
  test('has every file that its manifest names', () => {
    const exported = Object.values(manifest.exports).flatMap((entry) =>
      typeof entry === 'string' ? [entry] : Object.values(entry as Record<string, string>),
    )
    const named = [manifest.main, manifest.types, ...Object.values(manifest.bin), ...exported] as string[]
    expect(named.filter((file) => !existsSync(join(installed, file)))).toEqual([])
  })

  test('packs what its documents link to, and no source maps, whose sources are not in it', async () => {
    for (const name of [...manifest.files, 'README.md', 'LICENSE']) {
      if (name !== 'dist') cpSync(join(ROOT, name), join(installed, name), { recursive: true })
    }
    const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: installed,
    })
    const [{ files, unpackedSize }] = JSON.parse(stdout)
    const packed = new Set((files as { path: string }[]).map(({ path }) => path))
    expect([...packed].filter((path) => path.endsWith('.map'))).toEqual([])
    expect(unpackedSize).toBeLessThan(4_000_000)
    const dead = [...packed]
      .filter((path) => path.endsWith('.md'))
      .flatMap((path) => linksOf(path).map((link) => ({ path, link })))
      .filter(({ path, link }) => {
        const target = join(dirname(path), link)
        return !packed.has(target) && ![...packed].some((file) => file.startsWith(`${target}/`))
      })
    expect(dead).toEqual([])
    const built = await readFile(join(installed, 'dist/src/index.js'), 'utf8')
    expect(built).not.toContain('sourceMappingURL')
  })

  test('is not published while its repository is a placeholder', async () => {
    const publish = (text: string) => {
      writeFileSync(join(project, 'package.json'), text)
      return run('npm', ['run', 'prepublishOnly'], { cwd: project }).then(
        () => 'published',
        (error: { stderr: string }) => error.stderr,
      )
    }
    const repository = { type: 'git', url: 'git+https://repository.example/OWNER/velvet-rope.git' }
    const text = JSON.stringify({ ...manifest, repository })
    expect(await publish(text)).toContain('expected repository to be the address')
    expect(await publish(text.replaceAll('repository.example', 'code.test'))).toBe('published')
    rmSync(join(project, 'package.json'))
  })

  test('can be imported by its names, and shapes', async () => {
    const script = `
      import { Shaper } from 'velvet-rope'
      import { Meter } from 'velvet-rope/meter'
      import { checkHistory, recordHistory, VirtualClock } from 'velvet-rope/testing'
      const clock = new VirtualClock()
      const shaper = new Shaper('installed', { limits: { '*': '5, 2/s' }, clock })
      const { history } = recordHistory(shaper)
      const starts = []
      shaper.work(() => void starts.push(clock.now()))
      await shaper.enqueueMany([{ key: 'k', data: 1 }, { key: 'k', data: 2 }])
      await clock.advance(2_000_000)
      const { retryAfterMs } = await new Meter('installed', { limits: shaper.limits, clock }).fill('k', 6)
      console.log(JSON.stringify([starts, checkHistory(history), retryAfterMs]))
    `
    const bounds = JSON.parse(await node('--input-type=module', '-e', script))
    // Infinity is null in JSON: six never fit where there is room for five.
    expect(bounds).toEqual([[0, 500_000], [], null])
  })

  test('can be mounted in a user’s server, which keeps its own Request and Response', async () => {
    const script = `
      import { Shaper } from 'velvet-rope'
      import { createHttpApp, serveHttp } from 'velvet-rope/http'
      import { Hono } from 'hono'
      const [before, app] = [Response, createHttpApp(new Shaper('mounted', { limits: { '*': '5, 2/s' } }))]
      const host = new Hono()
      host.mount('/shaper', app.fetch)
      const mounted = await host.request('/shaper/v1/buckets/k/forecast')
      const server = await serveHttp(app, { port: 0, hasTokens: false })
      const served = await fetch(server.url + '/v1/buckets/k/forecast')
      console.log(JSON.stringify([mounted.status, served.status, Response === before]))
      await server.close()
    `
    expect(JSON.parse(await node('--input-type=module', '-e', script))).toEqual([200, 200, true])
  })

  test('finds the dashboard that was built beside it', async () => {
    const script = `
      import { Shaper } from 'velvet-rope'
      import { createHttpApp, openDashboard } from 'velvet-rope/http'
      const dashboard = openDashboard()
      const app = createHttpApp(new Shaper('watched', { limits: { '*': '5, 2/s' } }), { dashboard })
      const page = await app.request('/', { headers: { accept: 'text/html' } })
      console.log(JSON.stringify([dashboard !== undefined, await page.text()]))
    `
    const [isThere] = JSON.parse(await node('--input-type=module', '-e', script))
    expect(isThere).toBe(false)
    mkdirSync(join(installed, 'dist', 'dashboard'))
    writeFileSync(join(installed, 'dist', 'dashboard', 'index.html'), '<p>in</p>')
    expect(JSON.parse(await node('--input-type=module', '-e', script))).toEqual([true, '<p>in</p>'])
  })

  test('lets requests wait their turn', async () => {
    const script = `
      import { Shaper } from 'velvet-rope'
      import { shapedFetch, turnInterceptor } from 'velvet-rope/fetch'
      const shaper = new Shaper('calls', { limits: { '*': '5, 2/s' } })
      const fetch = shapedFetch(shaper, { key: 'account' })
      const answer = await fetch('data:,hello')
      console.log(JSON.stringify([await answer.text(), turnInterceptor(shaper).length]))
    `
    expect(JSON.parse(await node('--input-type=module', '-e', script))).toEqual(['hello', 1])
  })

  test('can be required from CommonJS', async () => {
    const script =
      "console.log(new (require('velvet-rope').Shaper)('required', { limits: { '*': '5, 2/s' } }).name)"
    expect(await node('--input-type=commonjs', '-e', script)).toContain('required')
  })

  test('exports nothing else', async () => {
    const script = "import('velvet-rope/dist/src/core/clock.js').catch((error) => console.log(error.code))"
    expect(await node('-e', script)).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED')
  })

  test('has a command that knows its version', async () => {
    expect(await node(join(installed, manifest.bin['velvet-rope']), '--version')).toBe(manifest.version)
  })

  test('gives its users types that compile, strictly and without our own settings', async () => {
    const use = `
      import { type Admission, Shaper } from 'velvet-rope'
      import { createHttpApp, type HttpOptions, openDashboard } from 'velvet-rope/http'
      import { shapedFetch, turnInterceptor } from 'velvet-rope/fetch'
      import { Meter, type MeterReading, type MeterStore } from 'velvet-rope/meter'
      import { VirtualClock } from 'velvet-rope/testing'
      import { Agent, fetch as undiciFetch } from 'undici'
      const limits = { '*': '5, 2/s', a: { capacity: 3, rate: '1/s' } }
      const shaper = new Shaper<{ to: string }, number>('typed', { limits, clock: new VirtualClock() })
      shaper.on('completed', ({ result }) => result.toFixed()).work(async (job) => job.data.to.length)
      const admission: Admission = await shaper.enqueue('k', { to: 'me' })
      const options: HttpOptions = { maxBatch: 10, dashboard: openDashboard() }
      export const answer: Response | Promise<Response> = createHttpApp(shaper, options).request('/healthz')
      const key = ({ url, headers }: { url: URL; headers: Headers }) => headers.get('x-account') ?? url.host
      export const got: Promise<Response> = shapedFetch(shaper, { key, attempts: 3 })(new URL('http://a'))
      export const same: typeof undiciFetch = shapedFetch(shaper, { fetch: undiciFetch })
      export const dispatcher = new Agent().compose(turnInterceptor(shaper, { timeoutMs: 5_000 }))
      const reading: MeterReading = await new Meter('typed', { limits: shaper.limits, blockWhenFull: '1h' }).fill('k', 0.5)
      export const room: number = reading.space
      export const storeOf = (store: MeterStore) => new Meter('typed', { limits, store })
      const find = async (id: number, lang?: string) => [id, lang]
      const wrapped = shaper.wrap(find, { key: (id) => String(id), cost: () => 2 })
      export const found: Promise<(string | number | undefined)[]>[] = [wrapped(1), wrapped(1, 'de')]
      export const wait: number = admission.accepted ? admission.waitMs : admission.retryAfterMs
    `
    expect(await compile('use.mts', use)).toBe('')
    const misuse = use.replace("{ to: 'me' }", "{ from: 'me' }")
    expect(await compile('misuse.mts', misuse)).toMatch(/^misuse\.mts\(11,.*'from' does not exist/)
  })

  test('passes publint', async () => {
    const { messages, pkg } = await publint({ pkgDir: installed, strict: true, pack: false })
    expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([])
  })
})
