import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const SERVER = fileURLToPath(new URL('./server.ts', import.meta.url))

/** The first message to a server process. */
export interface ServerOrder {
  readonly socket: string
  readonly keeps: 'nothing' | 'bullmq'
}

/** A peer that serves in a process of its own, which ends with this one; resolves with where. */
export async function forkServer(order: ServerOrder): Promise<string> {
  const child = fork(SERVER, [JSON.stringify(order)], { execArgv: process.execArgv })
  child.on('exit', (code) => {
    throw new Error(`the server ended with code ${code}`)
  })
  const [url] = await once(child, 'message')
  return url
}
