import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pass } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const LONGEST_START_MS = 180_000

export interface ServiceOptions {
  /** The checkout whose sources serve. */
  readonly checkout: string
  readonly port: number
  readonly heapMb: number
  readonly tokens: Readonly<Record<'attacker' | 'victim', string>>
}

/** A service in a process of its own, in memory, where no job departs: what was accepted can be looked for afterwards. */
export class ServiceProcess {
  readonly url: string
  readonly #child: ChildProcess
  readonly #folder: string
  #stderr = ''
  /** The largest resident size that was seen, in bytes. */
  peak = 0

  private constructor({ checkout, port, heapMb, tokens }: ServiceOptions) {
    this.url = `http://127.0.0.1:${port}`
    this.#folder = mkdtempSync(join(tmpdir(), 'velvet-rope-attack-'))
    const config = join(this.#folder, 'velvet-rope.yaml')
    writeFileSync(config, configOf(tokens))
    const tsx = pathToFileURL(join(checkout, 'node_modules/tsx/dist/loader.mjs')).href
    const args = [`--max-old-space-size=${heapMb}`, '--import', tsx, join(checkout, 'src/cli/main.ts')]
    this.#child = spawn(
      process.execPath,
      [...args, 'serve', '--config', config, '--listen', `127.0.0.1:${port}`],
      {
        stdio: ['ignore', 'ignore', 'pipe'],
      },
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

function configOf(tokens: ServiceOptions['tokens']): string {
  const token = (name: keyof typeof tokens) => {
    const sha256 = createHash('sha256').update(tokens[name]).digest('hex')
    const rights = `scopes: [enqueue, read], prefixes: [${name}], limit: '600, 100/s'`
    return `  - { name: ${name}, sha256: ${sha256}, ${rights} }\n`
  }
  return `limits: { '*': '1000000, 1/s' }\nlog: { level: error }\ntokens:\n${token('attacker')}${token('victim')}`
}
