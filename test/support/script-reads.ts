import type { Redis } from 'ioredis'

export interface Reads {
  /** Commands that scripts called. */
  readonly commands: number
  /** The most that they may have answered: ranges by their length, all else as one. */
  readonly entries: number
  /** Commands of that script which called the most. */
  readonly largest: number
}

/** What the scripts of one server read and wrote while `work` was under way. No clock is involved. */
export async function readsDuring(redis: Redis, work: () => Promise<unknown>): Promise<Reads> {
  const monitor = await redis.monitor()
  const calls: string[][] = []
  let [inScript, largest] = [0, 0]
  const end = `end ${Math.random()}`
  const seen = new Promise<void>((resolve) => {
    monitor.on('monitor', (_time: string, args: string[], source: string) => {
      if (args[1] === end) resolve()
      // The call of a script comes before what it calls.
      if (source !== 'lua') inScript = 0
      else {
        calls.push(args)
        largest = Math.max(largest, ++inScript)
      }
    })
  })
  await work()
  await redis.echo(end)
  await seen
  monitor.disconnect()
  return { commands: calls.length, entries: calls.reduce((sum, call) => sum + entriesOf(call), 0), largest }
}

function entriesOf([name, , from, to]: readonly string[]): number {
  const isRange = ['lrange', 'zrange'].includes(name!.toLowerCase()) && Number(to) >= Number(from)
  return isRange ? Number(to) - Number(from) + 1 : 1
}
