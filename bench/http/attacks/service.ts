import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pass } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const LONGEST_START_MS = 180_000
const LOOP_WATCH = new URL('./loop-watch.ts', import.meta.url).href

export interface ServiceOptions {
  /** The checkout whose sources serve. */
  readonly checkout: string
  readonly port: number
  readonly heapMb: number
  readonly tokens: Readonly<Record<'attacker' | 'victim', string>>
  readonly setting?: ServiceSetting
  /** Whether the loop is watched, which keeps a processor busy. */
  readonly isWatched?: boolean
}

/** What an attack needs of the service beside the default. */
export interface ServiceSetting {
  /** Of each token. Default: `enqueue`, `read`. */
  readonly scopes?: string
  /** The rate of each token. Default: 600 at once, then 100 a second. */
  readonly tokenLimit?: string
  /** Of every key. Default: no job departs. */
  readonly limit?: string
  /** Further lines of the configuration. */
  readonly more?: string
}

/** A service in a process of its own, in memory, where no job departs: what was accepted can be looked for afterwards. */
export class ServiceProcess {
  readonly url: string
  readonly #child: ChildProcess
  readonly #folder: string
  #stderr = ''
  /** The largest resident size that was seen, in bytes. */
  peak = 0

  private constructor({ checkout, port, heapMb, tokens, setting, isWatched = false }: ServiceOptions) {
    this.url = `http://127.0.0.1:${port}`
    this.#folder = mkdtempSync(join(tmpdir(), 'velvet-rope-attack-'))
    const config = join(this.#folder, 'velvet-rope.yaml')
    writeFileSync(config, configOf(tokens, setting))
    const tsx = pathToFileURL(join(checkout, 'node_modules/tsx/dist/loader.mjs')).href
    const watch = isWatched ? ['--import', LOOP_WATCH] : []
    const args = [
      `--max-old-space-size=${heapMb}`,
      '--import',
      tsx,
      ...watch,
      join(checkout, 'src/cli/main.ts'),
    ]
    this.#child = spawn(
      process.execPath,
      [...args, 'serve', '--config', config, '--listen', `127.0.0.1:${port}`],
      { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] },
    )
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-2_000)
    })
  }

  static async start(options: ServiceOptions): Promise<ServiceProcess> {
    const service = new ServiceProcess(options)
    const end = Date.now() + LONGEST_START_MS
    while (!(await service.#isAlive())) {
      if (service.hasEnded || Date.now() > end) {
        await service.stop()
        throw new Error(`the service did not start: ${service.#stderr}`)
      }
      await pass(100)
    }
    return service
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** The longest time that the loop was held since the last call, in milliseconds. Only where it is watched. */
  async longestHold(): Promise<number> {
    const answer = once(this.#child, 'message') as Promise<[{ readonly longest: number }]>
    this.#child.send('longest')
    const [{ longest }] = await answer
    return longest
  }

  /** Reads how much memory is resident. */
  look(): void {
    try {
      const [, kib = '0'] =
        /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${this.#child.pid}/status`, 'utf8')) ?? []
      this.peak = Math.max(this.peak, Number(kib) * 1_024)
    } catch {
      // It has ended.
    }
  }

  async stop(): Promise<void> {
    if (!this.hasEnded) {
      const ended = new Promise((resolve) => this.#child.once('exit', resolve))
      this.#child.kill('SIGKILL')
      await ended
    }
    rmSync(this.#folder, { recursive: true })
  }

  async #isAlive(): Promise<boolean> {
    const response = await fetch(`${this.url}/healthz`).catch(() => undefined)
    await response?.text()
    return response?.status === 200
  }
}

function configOf(
  tokens: ServiceOptions['tokens'],
  {
    scopes = 'enqueue, read',
    tokenLimit = '600, 100/s',
    limit = '1000000, 1/s',
    more = '',
  }: ServiceSetting = {},
): string {
  const token = (name: keyof typeof tokens) => {
    const sha256 = createHash('sha256').update(tokens[name]).digest('hex')
    const rights = `scopes: [${scopes}], prefixes: [${name}], limit: '${tokenLimit}'`
    return `  - { name: ${name}, sha256: ${sha256}, ${rights} }\n`
  }
  const lines = [
    `limits: { '*': '${limit}' }`,
    'log: { level: error }',
    ...(more === '' ? [] : [more]),
    'tokens:',
  ]
  return `${lines.join('\n')}\n${token('attacker')}${token('victim')}`
}
