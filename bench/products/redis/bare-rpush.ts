import { Redis } from 'ioredis'
import type { Payload } from '../product.ts'
import type { RedisProduct } from './product.ts'

/** No product but a floor: a list per key, and nobody who ever takes anything out. */
export const bareRpush: RedisProduct = {
  name: 'bare RPUSH',
  setting: () => 'a list per key, no limit, no consumer',

  async produce({ socket }) {
    const client = new Redis(socket)
    return {
      enqueue: (key, data) => client.rpush(`line:${key}`, JSON.stringify(data)),
      async enqueueMany(jobs) {
        const lines = new Map<string, Payload[]>()
        for (const [key, data] of jobs) {
          const line = lines.get(key)
          if (line === undefined) lines.set(key, [data])
          else line.push(data)
        }
        await Promise.all(
          [...lines].map(([key, line]) =>
            client.rpush(`line:${key}`, ...line.map((data) => JSON.stringify(data))),
          ),
        )
      },
    }
  },
}
