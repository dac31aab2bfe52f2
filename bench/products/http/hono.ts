import { forkServer } from '../../http/server-process.ts'
import type { HttpProduct } from './product.ts'

/** No product but a floor: the body is validated, and forgotten. */
export const bareHono: HttpProduct = {
  name: 'bare Hono',
  setting: () => 'validates the same body, keeps nothing',
  serve: ({ socket }) => forkServer({ socket, keeps: 'nothing' }),
}

export const honoBullmq: HttpProduct = {
  name: 'Hono and BullMQ',
  setting: () => 'the same route with one queue.add, no limit',
  serve: ({ socket }) => forkServer({ socket, keeps: 'bullmq' }),
}
