import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Server } from '../servers.ts'

const READY_WITHIN_MS = 10_000

/** Such as `redis-server 7.0.15`. @throws when there is none, with what to do about it */
export function redisVersion(): string {
  const { error, stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' })
  if (error !== undefined) {
    throw new Error(
      'The bench starts redis-server by itself, and there is none on the PATH: expected redis-server 7.0 or ' +
        `later. Install it, or measure the memory part alone with --memory. (${error.message})`,
    )
  }
  return `redis-server ${/v=(\S+)/.exec(stdout)?.[1] ?? 'of unknown version'}`
}

/** No port, and nothing on disk; its address is its socket. Resolves when it takes commands. */
export async function startRedis(): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'velvet-rope-bench-'))
  const socket = join(folder, 'redis.sock')
  const settings = [
    '--port',
    '0',
    '--unixsocket',
    socket,
    '--dir',
    folder,
    '--save',
    '',
    '--appendonly',
    'no',
  ]
  const server = spawn('redis-server', settings, { stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = once(server, 'close')
  let output = ''
  const ready = new Promise<void>((resolve) => {
    server.stdout.on('data', (chunk: Buffer) => {
      if (output.length < 10_000) output += chunk.toString()
      if (/ready to accept connections/i.test(output)) resolve()
    })
  })
  // It has nothing to save.
  const abandon = () => {
    server.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', abandon)
  const stop = async () => {
    process.off('exit', abandon)
    abandon()
    await closed
  }
  let timer: NodeJS.Timeout | undefined
  const overdue = new Promise<'overdue'>((resolve) => {
    timer = setTimeout(() => resolve('overdue'), READY_WITHIN_MS)
  })
  const failure = await Promise.race([ready, overdue, closed.then(() => 'ended')])
  clearTimeout(timer)
  if (failure === undefined) return { address: socket, stop }
  await stop()
  throw new Error(`redis-server did not become ready (${failure}):\n${output}`)
}
