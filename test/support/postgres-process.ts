import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { watch } from './watchdog.ts'

const run = promisify(execFile)
const running = new Set<PostgresProcess>()
/** Nobody needs what a test has written after a power failure. */
const FOR_TESTS = ['fsync=off', 'full_page_writes=off']

/** A PostgreSQL server of our own on a unix socket, which dies with this process however it ends. */
export class PostgresProcess {
  /** For `new Pool({ connectionString })`. */
  readonly url: string
  readonly dir = mkdtempSync(join(tmpdir(), 'velvet-rope-postgres-'))
  readonly #bin = programFolder()!
  readonly #owner = ownerOfServer()
  readonly #settings: readonly string[]
  #server: ChildProcess | undefined
  #ended: Promise<void> = Promise.resolve()

  private constructor(settings: readonly string[]) {
    this.#settings = [...settings, 'max_connections=120', 'listen_addresses=']
    this.url = `postgresql://postgres@${encodeURIComponent(this.dir)}/postgres`
  }

  /** Resolves when it takes connections. @param settings such as `fsync=off`; the rest is at its default */
  static async start(settings = FOR_TESTS): Promise<PostgresProcess> {
    const postgres = new PostgresProcess(settings)
    running.add(postgres)
    await postgres.#createFiles()
    await postgres.restart()
    return postgres
  }

  /** Stops every server that this process has started, and waits until they are gone. */
  static async stopAll(): Promise<void> {
    await Promise.all([...running].map((postgres) => postgres.stop()))
  }

  /** Ends it and removes its files. */
  async stop(): Promise<void> {
    await this.kill()
    running.delete(this)
    rmSync(this.dir, { recursive: true, force: true })
  }

  /** Ends it, with its connections, in the middle of whatever it does. */
  async kill(): Promise<void> {
    this.#server?.kill('SIGQUIT')
    await this.#ended
  }

  /** Starts it at the same address with the same files; it must not run. */
  async restart(): Promise<void> {
    const server = spawn(
      join(this.#bin, 'postgres'),
      ['-D', this.#data, '-k', this.dir, ...this.#settings.flatMap((setting) => ['-c', setting])],
      { ...this.#owner, cwd: this.dir, env: { LC_ALL: 'C' }, stdio: ['ignore', 'ignore', 'pipe'] },
    )
    this.#server = server
    const watchdog = watch(server, { signal: 'QUIT', dirToRemove: this.dir })
    this.#ended = new Promise((resolve) => {
      server.once('close', () => {
        this.#server = undefined
        watchdog.kill('SIGKILL')
        resolve()
      })
    })
    await readiness(server)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  get #data(): string {
    return join(this.dir, 'data')
  }

  async #createFiles(): Promise<void> {
    if (this.#owner.uid !== undefined) chownSync(this.dir, this.#owner.uid, this.#owner.gid!)
    const how = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
    const options = { ...this.#owner, cwd: this.dir }
    await run(join(this.#bin, 'initdb'), ['-D', this.#data, ...how], options)
  }
}

/** Where the server's programs are; Debian keeps them off the PATH, a folder for each version. */
export function programFolder(): string | undefined {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort((one, other) => +other - +one) : []
  const folders = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    ...versions.map((version) => join(debian, version, 'bin')),
  ]
  return folders.find((folder) => ['initdb', 'postgres'].every((name) => existsSync(join(folder, name))))
}

/** The server refuses to run as root; as root we lend it the user that its package has made. */
function ownerOfServer(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: idOf('-u'), gid: idOf('-g') }
}

function readiness(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = ''
    server.stderr?.on('data', (chunk: Buffer) => {
      // What it says later is of no use, and must not pile up.
      if (said.length < 100_000) said += chunk.toString()
      if (said.includes('ready to accept connections')) resolve()
    })
    server.once('error', reject)
    server.once('close', (code) => reject(new Error(`postgres ended with ${code} at its start: ${said}`)))
  })
}
