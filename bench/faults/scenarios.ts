import { setTimeout as sleep } from 'node:timers/promises'
import type { Fleet } from './fleet.ts'
import { monotonicMs } from './record.ts'

/** One fault. */
export interface FaultScenario {
  readonly name: string
  readonly takesMs: number
  /** What it does; resolves with the moment from which recovery counts, and with the jobs that the fault held back. */
  disturb(fleet: Fleet): Promise<{ readonly at: number; readonly held: 'running' | 'any' }>
}

const killed = async (fleet: Fleet) => {
  await sleep(1_500)
  const at = monotonicMs()
  fleet.workers[0]!.process.kill('SIGKILL')
  return { at, held: 'running' } as const
}

export const FAULT_SCENARIOS: readonly FaultScenario[] = [
  { name: 'no fault', takesMs: 20, disturb: async () => ({ at: monotonicMs(), held: 'any' }) },
  { name: 'one of two workers killed in its handlers', takesMs: 600, disturb: killed },
  {
    name: 'one of two workers stopped for 40 s in its handlers',
    takesMs: 600,
    async disturb({ workers }) {
      await sleep(1_500)
      const at = monotonicMs()
      workers[0]!.process.kill('SIGSTOP')
      void sleep(40_000).then(() => workers[0]!.process.kill('SIGCONT'))
      return { at, held: 'running' }
    },
  },
  {
    name: 'both workers stopped 15 times for 60 to 300 ms',
    takesMs: 20,
    async disturb({ workers }) {
      for (let n = 0; n < 15; n++) {
        const { process } = workers[n % 2]!
        process.kill('SIGSTOP')
        await sleep(60 + ((n * 97) % 240))
        process.kill('SIGCONT')
        await sleep(40)
      }
      return { at: monotonicMs(), held: 'any' }
    },
  },
  {
    name: 'all workers away for 5 s, then back',
    takesMs: 20,
    async disturb(fleet) {
      await sleep(1_000)
      const before = fleet.workers.splice(0)
      for (const { process } of before) process.kill('SIGKILL')
      await sleep(5_000)
      const at = monotonicMs()
      for (let n = 0; n < 2; n++) await fleet.addWorker()
      return { at, held: 'any' }
    },
  },
  {
    name: 'the reply of a fetch lost 10 times',
    takesMs: 20,
    async disturb({ workers }) {
      await sleep(1_000)
      const at = monotonicMs()
      for (const { network } of workers) network.lose({ match: 'evalsha', times: 5 })
      return { at, held: 'any' }
    },
  },
  {
    name: 'Redis killed and back after 3 s, with its file',
    takesMs: 20,
    async disturb({ redis }) {
      await sleep(1_000)
      await redis.kill()
      await sleep(3_000)
      await redis.restart()
      return { at: monotonicMs(), held: 'any' }
    },
  },
  {
    name: 'a network that swallows everything for 8 s',
    takesMs: 20,
    async disturb({ workers }) {
      await sleep(1_000)
      for (const { network } of workers) network.weather = { isBlackHole: true }
      await sleep(8_000)
      for (const { network } of workers) network.mend()
      return { at: monotonicMs(), held: 'any' }
    },
  },
]
