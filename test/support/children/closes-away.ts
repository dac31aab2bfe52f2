import { setTimeout as sleep } from 'node:timers/promises'
import { Shaper } from '../../../src/index.ts'
import { RedisProcess } from '../redis-process.ts'

// Closes its worker while its clients wait to connect again, and must then have nothing to stay for.
const redis = await RedisProcess.start()
const shaper = new Shaper('closes', { limits: { '*': '9, 10/s' }, connection: redis.url })
const isLost = new Promise((resolve) => shaper.on('error', resolve))
shaper.work(() => undefined)
await shaper.ready()
await shaper.enqueue('k', 1)
await new Promise((resolve) => shaper.on('completed', resolve))
await redis.stop()
await isLost
await sleep(500)
await shaper.close()
console.log('closed')
