import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { RedisProductName } from '../products/redis/index.ts'
import type { Setup } from '../products/redis/product.ts'

const WORKER = fileURLToPath(new URL('./worker.ts', import.meta.url))

/** The first message to a worker process. */
export interface WorkerOrder {
  readonly product: RedisProductName
  readonly setup: Setup
}

/** A process that runs handlers and only counts them. It ends when this process does. */
export interface WorkerProcess {
  /** Resolves when so many have started there, from the beginning. */
  started(wanted: number): Promise<void>
}

/** Resolves when the worker is connected. */
export async function forkWorker(order: WorkerOrder): Promise<WorkerProcess> {
  const child = fork(WORKER, [JSON.stringify(order)], { execArgv: process.execArgv })
  child.on('exit', (code) => {
    throw new Error(`the worker ended with code ${code}`)
  })
  await once(child, 'message')
  return {
    async started(wanted) {
      child.send(wanted)
      await once(child, 'message')
    },
  }
}
