import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const PULSE = fileURLToPath(new URL('./pulse.ts', import.meta.url))

/** The first message to the pulse process. */
export interface PulseOrder {
  readonly socket: string
  readonly perSecond: number
}

/** Another shaper on the same server, in a process of its own, whose one bucket departs all the time. */
export interface Pulse {
  /** By how much each start since the last time was further from the one before than the interval, in milliseconds. */
  lateness(): Promise<number[]>
}

export async function startPulse(order: PulseOrder): Promise<Pulse> {
  const child = fork(PULSE, [JSON.stringify(order)], { execArgv: process.execArgv })
  child.on('exit', (code) => {
    throw new Error(`the pulse ended with code ${code}`)
  })
  await once(child, 'message')
  return {
    async lateness() {
      child.send('tell')
      const [late] = (await once(child, 'message')) as [number[]]
      return late
    },
  }
}
