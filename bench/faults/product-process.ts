import { setTimeout as sleep } from 'node:timers/promises'
import { FAULT_PRODUCTS } from './products.ts'
import { monotonicMs, openRecord } from './record.ts'

/** One process of a product under faults. */
export interface ProcessOrder {
  readonly product: string
  readonly address: string
  readonly record: string
  readonly works: boolean
  /** How long a handler takes; milliseconds. */
  readonly takesMs: number
}

const order: ProcessOrder = JSON.parse(process.argv[2]!)
const product = FAULT_PRODUCTS.find(({ name }) => name === order.product)!
const write = openRecord(order.record)
const handler = async (id: number) => {
  const at = monotonicMs()
  write('started', id, at)
  await sleep(order.takesMs)
  write('ended', id)
}
const accept = await product.open(order.address, order.works ? handler : undefined)

/** As a careful caller does: after an error, the same job again. */
async function acceptUntilItIs(id: number): Promise<void> {
  for (;;) {
    try {
      await accept(id)
      write('accepted', id)
      return
    } catch {
      await sleep(100)
    }
  }
}

process.on('message', (ids: number[]) => {
  void (async () => {
    for (const id of ids) await acceptUntilItIs(id)
  })()
})
process.once('disconnect', () => process.exit())
process.send!('ready')
