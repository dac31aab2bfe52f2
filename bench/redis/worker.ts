import { countStarts } from '../burst.ts'
import { loadRedisProduct } from '../products/redis/index.ts'
import type { WorkerOrder } from './worker-process.ts'

/** What runs in a worker process: handlers that count. Each number that comes is answered when so many have started. */
const { product: name, setup } = JSON.parse(process.argv[2]!) as WorkerOrder
const product = await loadRedisProduct(name)
if (product.work === undefined) throw new Error(`${name} runs its handlers in the process that produces`)
const counter = countStarts()
await product.work(setup, counter.start)
process.on('disconnect', () => process.exit())
process.on('message', (wanted: number) => {
  void counter.started(wanted).then(() => process.send!('reached'))
})
process.send!('ready')
