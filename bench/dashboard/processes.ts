import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { HouseOrder } from './order.ts'

/** The process that serves the page. */
export interface House {
  readonly url: string
  /** Since it was asked before; milliseconds. */
  loopDelay(): Promise<{ readonly p99: number; readonly max: number }>
}

export async function startHouse(order: HouseOrder): Promise<House> {
  const [child, url] = await start('./house-process.ts', order)
  return {
    url,
    async loopDelay() {
      child.send('tell')
      const [[p99, max]] = (await once(child, 'message')) as [[number, number]]
      return { p99, max }
    },
  }
}

/** Whoever enqueues and works, in a process of its own. */
export async function startTraffic(order: HouseOrder): Promise<void> {
  await start('./traffic-process.ts', order)
}

async function start(file: string, order: HouseOrder) {
  const path = fileURLToPath(new URL(file, import.meta.url))
  const child = fork(path, [JSON.stringify(order)], { execArgv: ['--import', 'tsx'] })
  child.on('exit', (code) => {
    throw new Error(`${file} ended with code ${code}`)
  })
  const [said] = (await once(child, 'message')) as [string]
  return [child, said] as const
}
