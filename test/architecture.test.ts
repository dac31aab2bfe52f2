import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/**
 * Data flows down this list; an import points only upwards in it. The two kinds of line stand beside each other, and
 * neither knows the other. Folders of a layer that are named here are layers of their own.
 */
const LAYERS = [
  'core',
  'conformance',
  'line',
  'memory/store',
  'memory',
  'redis/connection',
  'redis/scripts',
  'redis/rules',
  'redis/verbs',
  'redis/views',
  'redis/transport',
  'redis/slots',
  'redis/scheduler',
  'redis/worker',
  'redis',
  'shaper',
  'meter',
  'testing',
  'simulate',
  'demo',
  'http',
  'police',
  'dashboard',
  'forward',
  'fetch',
  'telemetry',
  'config',
  'service',
  'workers',
  'cli',
]
const LINES = ['memory', 'redis']
/** What users import: these show what the layers hold, and no layer imports them. */
const ENTRIES: Readonly<Record<string, string>> = {
  'src/index.ts': 'shaper',
  'src/testing.ts': 'testing',
  'src/http.ts': 'dashboard',
  'src/meter.ts': 'police',
  'src/fetch.ts': 'fetch',
}

/** The page of the dashboard runs in browsers: it is built on its own, and asks the rest of the house over HTTP. */
const PAGE = 'src/dashboard/page/'
/** What the page is made of and built with; the package contains the built files, and none of these. */
const PAGE_PACKAGES = ['preact', 'uplot', 'vite']

const TYPES = /^(?:import|export) type\b[^;']*'[^']+'/gm

interface Source {
  readonly path: string
  readonly text: string
  /** Without comments and the text of strings, for checks that look for words. */
  readonly code: string
  readonly imports: readonly string[]
  /** Those that are left when the types are gone. */
  readonly loads: readonly string[]
}

const sources = [...read('src'), ...read('workers')]
const tests = read('test')
const byPath = new Map(sources.map((source) => [source.path, source]))

/** A layer that has no file yet has no folder either. */
function read(folder: string): Source[] {
  if (!existsSync(join(ROOT, folder))) return []
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
  return names
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => {
      const path = join(folder, name).split(sep).join('/')
      const text = readFileSync(join(ROOT, path), 'utf8')
      return {
        path,
        text,
        code: codeOf(text),
        imports: importsOf(path, text),
        loads: importsOf(path, text.replace(TYPES, '')),
      }
    })
}

function codeOf(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, "''")
    .replace(/(^|\s)\/\/.*$/gm, '')
}

/** What a file imports or exports again, types as well; relative ones as paths from the root. */
function importsOf(path: string, text: string): string[] {
  const found = text.matchAll(
    /(?:^\s*|\b)(?:import|export)\b[^'";]*?\bfrom\s*'([^']+)'|\bimport\s*\(?\s*'([^']+)'/gm,
  )
  return [...found].map(([, from, bare]) => {
    const name = (from ?? bare)!
    return name.startsWith('.')
      ? relative(ROOT, join(ROOT, dirname(path), name))
          .split(sep)
          .join('/')
      : name
  })
}

function layerOf(path: string): string {
  const entry = ENTRIES[path]
  if (entry !== undefined) return entry
  const [top, folder = '', inner = ''] = path.split('/')
  if (top !== 'src') return top!
  const layer = `${folder}/${inner}`
  return LAYERS.includes(layer) ? layer : folder
}

const isOfPage = (path: string) => path.startsWith(PAGE)
const isOurs = (name: string) => name.startsWith('src/') || name.startsWith('workers/')

/** Every breach as a line, so that a failure shows all of them. */
function breaches(judge: (source: Source) => readonly string[], among = sources): string[] {
  return among.flatMap((source) => judge(source).map((breach) => `${source.path}: ${breach}`))
}

describe('the source', () => {
  test('is looked at, and its imports are found', () => {
    expect(sources.length).toBeGreaterThan(50)
    expect(byPath.get('src/shaper/shaper.ts')!.imports).toContain('src/core/key.ts')
    expect(byPath.get('src/index.ts')!.imports).toContain('src/shaper/shaper.ts')
    expect(importsOf('src/a/b.ts', "const lazy = await import('../c.ts')\nimport './d.ts'")).toEqual([
      'src/c.ts',
      'src/a/d.ts',
    ])
  })

  test('every import is of a file that exists, with its ending', () => {
    const missing = breaches(({ imports }) =>
      imports.filter((name) => isOurs(name) && !name.endsWith('.json') && !byPath.has(name)),
    )
    expect(missing).toEqual([])
  })

  test('every file stands in a layer', () => {
    expect(breaches(({ path }) => (LAYERS.includes(layerOf(path)) ? [] : [layerOf(path)]))).toEqual([])
  })

  test('imports point only upwards', () => {
    const downwards = breaches(({ path, imports }) =>
      imports.filter((name) => isOurs(name) && LAYERS.indexOf(layerOf(name)) > LAYERS.indexOf(layerOf(path))),
    )
    expect(downwards).toEqual([])
  })

  test('the line in memory and the line on Redis do not know each other', () => {
    const lineOf = (path: string) => LINES.find((line) => path.startsWith(`src/${line}/`))
    const crossing = breaches(({ path, imports }) =>
      imports.filter((name) => {
        const [from, to] = [lineOf(path), lineOf(name)]
        return from !== undefined && to !== undefined && from !== to
      }),
    )
    expect(crossing).toEqual([])
  })

  test('no layer imports an entry', () => {
    const entries = breaches(({ path, imports }) =>
      path in ENTRIES ? [] : imports.filter((name) => name in ENTRIES),
    )
    expect(entries).toEqual([])
  })

  test('modules load in no circle; only types may refer to each other', () => {
    const circles: string[] = []
    const done = new Set<string>()
    const visit = (path: string, trail: readonly string[]) => {
      const from = trail.indexOf(path)
      if (from !== -1) circles.push([...trail.slice(from), path].join(' -> '))
      if (from !== -1 || done.has(path)) return
      for (const name of byPath.get(path)?.loads ?? []) visit(name, [...trail, path])
      done.add(path)
    }
    for (const { path } of sources) visit(path, [])
    expect(circles).toEqual([])
  })

  test('core imports zod and itself; one file has the calendar, and one a module of Node', () => {
    const stranger = new Map([
      ['src/core/diagnostics.ts', 'node:diagnostics_channel'],
      ['src/core/calendar.ts', 'temporal-polyfill'],
    ])
    const isFriend = (name: string) => name === 'zod' || name.startsWith('src/core/')
    const strangers = breaches(({ path, imports }) =>
      layerOf(path) === 'core'
        ? imports.filter((name) => !isFriend(name) && name !== stranger.get(path))
        : [],
    )
    expect(strangers).toEqual([])
  })

  test('modules of Node are imported by their full name', () => {
    const short = breaches(({ imports }) => imports.filter((name) => builtinModules.includes(name)))
    expect(short).toEqual([])
  })

  test('packages are those that the product declares', () => {
    const { dependencies, peerDependencies } = manifest()
    const declared = { ...dependencies, ...peerDependencies }
    const undeclared = breaches(({ path, imports }) =>
      isOfPage(path) ? [] : packagesOf(imports).filter((name) => !(name in declared)),
    )
    expect(undeclared).toEqual([])
  })
})

function manifest() {
  return JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
}

/** Their names, of whatever is imported from them. */
function packagesOf(imports: readonly string[]): string[] {
  const others = imports.filter((name) => !isOurs(name) && !name.startsWith('node:'))
  return others.map((name) => {
    const [first, second] = name.split('/')
    return first!.startsWith('@') ? `${first}/${second}` : first!
  })
}

describe('the page', () => {
  const pages = sources.filter(({ path }) => isOfPage(path))

  test('is looked at', () => {
    expect(pages.length).toBeGreaterThan(30)
    expect(byPath.get(`${PAGE}main.tsx`)!.imports).toContain('preact')
  })

  test('is made of its own packages, which users of the product need not install', () => {
    const { dependencies, peerDependencies, devDependencies } = manifest()
    const strangers = breaches(
      ({ imports }) => packagesOf(imports).filter((name) => !PAGE_PACKAGES.includes(name)),
      pages,
    )
    expect(strangers).toEqual([])
    for (const name of PAGE_PACKAGES) {
      expect(devDependencies).toHaveProperty(name)
      expect({ ...dependencies, ...peerDependencies }).not.toHaveProperty(name)
    }
  })

  test('imports only types from the rest of the source, which does not import the page', () => {
    const loaded = breaches(({ loads }) => loads.filter((name) => isOurs(name) && !isOfPage(name)), pages)
    const knowing = breaches(({ path, imports }) => (isOfPage(path) ? [] : imports.filter(isOfPage)))
    expect([...loaded, ...knowing]).toEqual([])
  })

  test('imports nothing from Node, but where it is built', () => {
    const asking = breaches(
      ({ path, imports }) =>
        path === `${PAGE}vite.config.ts` ? [] : imports.filter((name) => name.startsWith('node:')),
      pages,
    )
    expect(asking).toEqual([])
  })

  test('writes text as text, and no markup', () => {
    const markup =
      /\b(?:inner|outer)HTML\b|dangerouslySetInnerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/g
    expect(breaches(({ text }) => text.match(markup) ?? [], pages)).toEqual([])
  })

  test('has nothing in its markup that a strict policy would forbid', () => {
    const html = readFileSync(join(ROOT, PAGE, 'index.html'), 'utf8')
    expect(html.match(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)|https?:/g)).toBeNull()
  })
})

describe('every file', () => {
  test('of the product has at most 300 lines, of the tests at most 400', () => {
    const lines = (most: number) => (source: Source) => {
      const count = source.text.trimEnd().split('\n').length
      return count > most ? [`${count} lines`] : []
    }
    expect([...breaches(lines(300)), ...breaches(lines(400), tests)]).toEqual([])
  })

  test('of Lua has at most 120 lines, a header with its keys, and what it answers', () => {
    const folder = join(ROOT, 'src')
    const scripts = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.lua'),
    )
    const faults = scripts.flatMap((name) => {
      const text = readFileSync(join(folder, name), 'utf8')
      const lines = text.trimEnd().split('\n').length
      const isVerb = !name.startsWith('redis/scripts/lib')
      const hasHeader =
        !isVerb || ['#!lua', '-- uses: ', '-- KEYS[1]', '-- Answers '].every((part) => text.includes(part))
      return lines > 120 || !hasHeader
        ? [`${name}: ${lines} lines${hasHeader ? '' : ', and no proper header'}`]
        : []
    })
    expect(scripts.length).toBeGreaterThan(20)
    expect(faults).toEqual([])
  })

  test('but one takes the time as an argument, and another on the page, where there is another clock', () => {
    const clocks = /\bDate\.now\b|\bnew Date\(\)|\bperformance\.(now|timeOrigin)\b|\bprocess\.hrtime\b/g
    const readers = breaches(({ path, code }) =>
      path === 'src/core/clock.ts' || path === `${PAGE}clock.ts` ? [] : (code.match(clocks) ?? []),
    )
    expect(readers).toEqual([])
    expect(byPath.get('src/core/clock.ts')!.code).toContain('performance.now')
  })

  test('is typed, without a way around it', () => {
    const ways = /\bany\b(?=\s*[\])>,;|&=)]|$)|:\s*any\b|\bas\s+any\b/gm
    const comments = /@ts-(?:ignore|nocheck|expect-error)|biome-ignore|eslint-disable/g
    const found = breaches(
      ({ code, text }) => [...(code.match(ways) ?? []), ...(text.match(comments) ?? [])],
      [...sources, ...tests.filter(({ path }) => path !== 'test/architecture.test.ts')],
    )
    expect(found).toEqual([])
  })

  test('of the tests waits with patience: no verdict depends on how fast the machine is', () => {
    const hurries = [
      /\bvi\.wait(?:For|Until)\b/g,
      // All have a patience of a minute, and a test has three.
      /\.poll\(.*\btimeout:/g,
      /^ *\}, \d{2,}_\d{3}\)$/gm,
      /\bperformance\.now\(\) - \w+\)\.toBeLess\w+/g,
    ]
    const judge = ({ path, code }: Source) =>
      path === 'test/support/patience.ts' ? [] : hurries.flatMap((pattern) => code.match(pattern) ?? [])
    expect(breaches(judge, tests)).toEqual([])
  })

  test('under test/unit starts no server, and needs nothing that is started or compiled for it', () => {
    const started = /^test\/support\/(?:.*(?:redis|postgres).*|built|child|launch|programs|watchdog)\.ts$/
    const units = tests.filter(({ path }) => path.startsWith('test/unit/'))
    const found = breaches(
      ({ imports }) => imports.filter((name) => started.test(name) || name === 'pg'),
      units,
    )
    expect(units.length).toBeGreaterThan(100)
    expect(found).toEqual([])
  })

  test('of the tests runs: none is skipped, and none runs alone', () => {
    const modes = /\b(?:test|it|describe)(?:\.\w+)*\.(?:skip|only|todo|fails|skipIf|runIf)\b/g
    expect(breaches(({ code }) => code.match(modes) ?? [], tests)).toEqual([])
  })
})
