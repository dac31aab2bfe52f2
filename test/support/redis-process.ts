import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { watch } from './watchdog.ts'

export interface RedisSettings {
  /** Absent: a unix socket. `'free'`: a port of 127.0.0.1 that is free. */
  readonly port?: number | 'free'
  /** Where it keeps its files. Absent: a new directory, which `stop` removes. */
  readonly dir?: string
  readonly appendonly?: 'yes' | 'no'
  readonly appendfsync?: 'always' | 'everysec' | 'no'
  readonly maxmemory?: string
  /** maxmemory-policy */
  readonly policy?: string
  readonly password?: string
  /** Beside the environment of this process. */
  readonly env?: Readonly<Record<string, string>>
  /** More settings, by the names of redis.conf; words of a value are apart by one space. */
  readonly config?: Readonly<Record<string, string>>
}

const running = new Set<RedisProcess>()

/** A `redis-server` of our own, which dies with this process however it ends. */
export class RedisProcess {
  /** For `new Redis(url)` and the option `connection`. */
  readonly url: string
  readonly port: number | undefined
  readonly dir: string
  readonly #settings: RedisSettings
  readonly #ownsDir: boolean
  #server: ChildProcess | undefined
  #ended: Promise<void> = Promise.resolve()

  private constructor(settings: RedisSettings, port: number | undefined) {
    this.#settings = settings
    this.#ownsDir = settings.dir === undefined
    this.dir = settings.dir ?? mkdtempSync(join(tmpdir(), 'velvet-rope-redis-'))
    this.port = port
    const login = settings.password === undefined ? '' : `:${encodeURIComponent(settings.password)}@`
    this.url = port === undefined ? this.#socket : `redis://${login}127.0.0.1:${port}`
  }

  /** Resolves when it takes commands. */
  static async start(settings: RedisSettings = {}): Promise<RedisProcess> {
    const { port } = settings
    if (port === 'free') return RedisProcess.#startAtFreePort(settings)
    const redis = new RedisProcess(settings, port)
    await redis.#launch()
    return redis
  }

  /** Another process may take the port between the look and the start. */
  static async #startAtFreePort(settings: RedisSettings): Promise<RedisProcess> {
    for (let left = 5; ; left--) {
      try {
        return await RedisProcess.start({ ...settings, port: await freePort() })
      } catch (error) {
        if (left === 0) throw error
      }
    }
  }

  /** Stops every server that this process has started, and waits until they are gone. */
  static async stopAll(): Promise<void> {
    await Promise.all([...running].map((redis) => redis.stop()))
  }

  get isRunning(): boolean {
    return this.#server !== undefined
  }

  get pid(): number {
    return this.#server!.pid!
  }

  /** Ends it, in an orderly way if its directory stays; removes the directory that was made for it. */
  async stop(): Promise<void> {
    this.resume()
    // With files that are never read again there is nothing to put in order.
    this.#server?.kill(this.#ownsDir ? 'SIGKILL' : 'SIGTERM')
    await this.#ended
    running.delete(this)
    if (this.#ownsDir) rmSync(this.dir, { recursive: true, force: true })
  }

  /** Ends it in the middle of whatever it does. */
  async kill(): Promise<void> {
    this.#server?.kill('SIGKILL')
    await this.#ended
  }

  /** Starts it once more at the same address with the same files; ends it first if it runs. */
  async restart(): Promise<void> {
    this.resume()
    this.#server?.kill('SIGTERM')
    await this.#ended
    await this.#launch()
  }

  /** Its clients stay connected and get no answers. */
  pause(): void {
    this.#server?.kill('SIGSTOP')
  }

  resume(): void {
    this.#server?.kill('SIGCONT')
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  get #socket(): string {
    return join(this.dir, 'r.sock')
  }

  #arguments(): string[] {
    const { appendonly = 'no', appendfsync, maxmemory, policy, password, config } = this.#settings
    const address =
      this.port === undefined
        ? { port: '0', unixsocket: this.#socket }
        : { port: `${this.port}`, bind: '127.0.0.1' }
    const settings = {
      ...address,
      dir: this.dir,
      save: '',
      appendonly,
      'shutdown-timeout': '0',
      ...(appendfsync && { appendfsync }),
      ...(maxmemory && { maxmemory }),
      ...(policy && { 'maxmemory-policy': policy }),
      ...(password && { requirepass: password }),
    }
    return [
      ...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
      // One word each: with a space in it, Redis would quote it.
      ...Object.entries(config ?? {}).flatMap(([name, value]) => [`--${name}`, ...value.split(' ')]),
    ]
  }

  async #launch(): Promise<void> {
    const env = { ...process.env, ...this.#settings.env }
    const server = spawn('redis-server', this.#arguments(), { env, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#server = server
    running.add(this)
    const watchdog = watch(server, { signal: 'KILL', dirToRemove: this.#ownsDir ? this.dir : '' })
    this.#ended = new Promise((resolve) => {
      server.once('close', () => {
        this.#server = undefined
        watchdog.kill('SIGKILL')
        resolve()
      })
    })
    await readiness(server)
  }
}

function readiness(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = ''
    const listen = (chunk: Buffer) => {
      said += chunk.toString()
      if (/ready to accept connections/i.test(said)) resolve()
    }
    server.stdout?.on('data', listen)
    server.stderr?.on('data', listen)
    server.once('error', reject)
    server.once('close', (code) => reject(new Error(`redis-server ended with ${code} at its start: ${said}`)))
  })
}

/** Below the ports that outgoing connections take, so that a restart finds it free; the bus of a cluster as well. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 10_000)
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
