import { randomBytes } from 'node:crypto'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Host } from './server.ts'
import type { SimRedis } from './sim-redis.ts'

/** Real time, for a store that real clients talk to. */
export const REAL_HOST: Host = {
  nowUs: () => Date.now() * 1_000,
  wake: (atUs, run) => {
    const timer = setTimeout(run, Math.max(0, atUs / 1_000 - Date.now()))
    return () => clearTimeout(timer)
  },
  random: Math.random,
}

/** Offers a store to real clients. Resolves with the path of its socket, and what closes it. */
export async function bridge(store: SimRedis): Promise<{ path: string; close(): Promise<void> }> {
  const path = join(tmpdir(), `vr-sim-${randomBytes(6).toString('hex')}.sock`)
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const connection = store.connect()
    sockets.add(socket)
    connection.onBytes((bytes) => socket.write(bytes))
    connection.onClose(() => socket.end())
    socket.on('data', (bytes: Buffer) => connection.receive(bytes))
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      sockets.delete(socket)
      connection.close()
    })
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
  return {
    path,
    close: () => {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
