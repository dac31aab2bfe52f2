import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { readVariables } from '../src/config/environment.ts'
import { composeConfig } from '../src/config/load-config.ts'
import { parseServeOptions } from '../src/http/server-options.ts'

interface ComposeService {
  readonly image: string
  readonly command: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly ports?: readonly string[]
  readonly profiles?: readonly string[]
  readonly deploy?: { readonly replicas: number }
}

const root = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url))
const compose = parse(readFileSync(root('docker-compose.yml'), 'utf8'), { merge: true })
const services: Readonly<Record<string, ComposeService>> = compose.services

const TOKENS = `[{"name":"shop","sha256":"${'ab'.repeat(32)}","scopes":["enqueue"]}]`

/** What a variable of the shell is when it is not set; the tokens have to be set. */
function withDefaults(text: string): string {
  return text.replace(/\$\{VELVET_ROPE_TOKENS:\?[^}]+\}/, TOKENS).replace(/\$\{\w+:-([^}]*)\}/g, '$1')
}

function environmentOf({ environment = {} }: ComposeService): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, withDefaults(value)]))
}

test('redis, an API and two workers are started; a handler of one’s own on demand', () => {
  const started = Object.entries(services).filter(([, { profiles }]) => profiles === undefined)
  const replicas = started.map(([name, { deploy }]) => [name, deploy?.replicas ?? 1])
  expect(Object.fromEntries(replicas)).toEqual({ redis: 1, api: 1, worker: 2 })
  expect(services['api']!.command).toEqual(['serve'])
  expect(services['worker']!.command).toEqual(['work', '--forward'])
  expect(services['handler']!.command[0]).toBe('work')
})

test('nothing is published but on the loopback', () => {
  for (const { ports = [] } of Object.values(services)) {
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/)
  }
})

test('Redis keeps what it accepted', () => {
  const { command } = services['redis']!
  const after = (flag: string) => command[command.indexOf(flag) + 1]
  expect(after('--appendonly')).toBe('yes')
  expect(after('--maxmemory-policy')).toBe('noeviction')
})

test.each(['api', 'worker'])('%s understands its environment, with the example as its file', (name) => {
  const env = environmentOf(services[name]!)
  expect(readVariables(env).problems).toEqual([])
  const file = root('velvet-rope.example.yaml')
  const found = { bytes: readFileSync(file), digest: '' }
  const config = composeConfig({ name: 'velvet-rope.yaml', path: file, isNamed: true }, found, { env })
  expect(config.redis).toBe('redis://redis:6379')
  expect(config.forward?.allow).toEqual(['https://api.stripe.com'])
  // As the server does before it listens: beyond the loopback there must be tokens.
  const hasTokens = config.tokens.length > 0
  expect(parseServeOptions({ ...config.listen, hasTokens })).toMatchObject({ host: '0.0.0.0', port: 7077 })
  expect(config.origins['listen']).toBe('environment')
})

test('the image is built from all that the build needs', () => {
  const { scripts } = JSON.parse(readFileSync(root('package.json'), 'utf8'))
  const dockerfile = readFileSync(root('Dockerfile'), 'utf8')
  const sent = readFileSync(root('.dockerignore'), 'utf8').split('\n')
  const named = scripts.build.match(/(?<=^| )[\w.]+(?:\/[\w.-]+)*\.(?:mjs|json)/g)
  expect(named).toEqual(['tsconfig.build.json', 'tools/copy-lua.mjs'])
  for (const path of [...named, 'src', 'workers']) {
    const top = path.split('/')[0]
    expect(dockerfile).toMatch(new RegExp(`^COPY .*\\b${top.replaceAll('.', '\\.')}\\b`, 'm'))
    expect(sent).toContain(`!${top}`)
  }
})
