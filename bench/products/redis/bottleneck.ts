import Bottleneck from 'bottleneck'
import { Redis } from 'ioredis'
import { intervalMs } from '../product.ts'
import type { RedisProduct } from './product.ts'

/** Its counts are in Redis; the jobs stay in the process that scheduled them. */
export const bottleneck: RedisProduct = {
  name: 'Bottleneck',
  setting: (pace) => `Group over ioredis, minTime ${intervalMs(pace)}`,

  async produce({ socket, pace }, start) {
    const connection = new Bottleneck.IORedisConnection({ client: new Redis(socket) })
    await connection.ready
    const group = new Bottleneck.Group({ id: 'bench', connection, minTime: intervalMs(pace) })
    const answered = new Map<string, () => void>()
    group.on('created', (limiter: Bottleneck) => {
      limiter.on('queued', ({ options }) => {
        answered.get(options.id)?.()
        answered.delete(options.id)
      })
    })
    let number = 0
    return {
      // `schedule` itself resolves when the job has run.
      enqueue: (key, data) =>
        new Promise<void>((resolve) => {
          const id = String(++number)
          answered.set(id, resolve)
          void group.key(key).schedule({ id }, async () => start(key, data))
        }),
    }
  },
}
