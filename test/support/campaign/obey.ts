import { createInterface } from 'node:readline'
import type { Shaper } from '../../../src/index.ts'
import type { HistoryFile } from './history-file.ts'
import type { Order, Reply, ShaperPlan } from './plans.ts'

/** Carries out the orders on the standard input, one after the other, and ends the process after `close`. */
export async function obey(
  shaper: Shaper,
  { keys, limits = {} }: ShaperPlan,
  file: HistoryFile,
): Promise<void> {
  const changed = keys.filter((key) => limits[key] === undefined)
  shaper.on('limit', ({ at, limit }) => {
    if (limit === undefined) return
    for (const key of changed) {
      file.write({ kind: 'event', clock: 'store', event: { type: 'limit', at: at * 1_000, key, limit } })
    }
  })
  for await (const line of createInterface({ input: process.stdin })) {
    const order: Order = JSON.parse(line)
    if (order.do === 'crash') crash(order.how)
    const reply = await carryOut(shaper, order).then(
      (answer): Reply => ({ answer }),
      (error: unknown): Reply => ({ failure: String(error) }),
    )
    console.log(`reply ${JSON.stringify(reply)}`)
    if (order.do === 'close') process.exit()
  }
  // Whoever gave the orders is gone.
  process.exit(1)
}

/** Ends this process as a defect of its code would. */
function crash(how: string): void {
  setImmediate(() => {
    if (how === 'exception') throw new Error('as planned: an exception that nothing catches')
    // So large that the collector soon gives up, and on the heap.
    const kept: unknown[] = []
    for (;;) kept.push(Array.from({ length: 100_000 }, (_, n) => ({ n })))
  })
}

async function carryOut(shaper: Shaper, order: Order): Promise<unknown> {
  switch (order.do) {
    case 'audit':
      return shaper.audit()
    case 'buckets':
      return shaper.buckets({ sort: 'key', limit: 20 })
    case 'job':
      return shaper.job(order.id)
    case 'limit':
      return shaper.limits.set('*', order.limit)
    case 'close':
      return shaper.close()
    case 'crash':
      // No answer: the process ends.
      return new Promise(() => undefined)
  }
}
