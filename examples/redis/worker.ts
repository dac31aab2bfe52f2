// Sends what producers enqueue: npx tsx examples/redis/worker.ts, in as many processes as you like. They keep the rate
// together, and hand over to each other when one ends; SIGTERM and Ctrl-C let running handlers finish.
import { setTimeout as sleep } from 'node:timers/promises'
import { Shaper } from 'velvet-rope'
import { options } from './limits.ts'

const shaper = new Shaper<{ invoice: number }>('invoices', options)

shaper.on('error', (error) => console.error(error.message))
shaper.work(
  async ({ key, data, departedAt }) => {
    console.log(
      `${new Date(departedAt).toISOString()}  worker ${process.pid}  ${key} invoice ${data.invoice}`,
    )
    await sleep(300) // the call to the other side
  },
  { concurrency: 10 },
)

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => void shaper.close({ drainMs: 10_000 }))
}
await shaper.ready()
console.log(`worker ${process.pid} is ready`)
