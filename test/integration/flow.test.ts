import { expect, onTestFinished, test } from 'vitest'
import { createHttpApp } from '../../src/http.ts'
import { Shaper } from '../../src/index.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'
import { EventReader } from '../unit/http/event-reader.ts'

test('what one process refuses is seen in the flow of another, and outlives both', async () => {
  const options = { limits: { '*': '2, 1/h' }, connection: redisAddress(), prefix: uniquePrefix(), shards: 2 }
  const open = async () => {
    const shaper = new Shaper('sms', options)
    onTestFinished(() => shaper.close())
    await shaper.ready()
    return shaper
  }
  const producer = await open()
  const app = createHttpApp(await open())
  onTestFinished(() => app.endStreams())
  const flowOf = async (): Promise<object> => {
    const reader = new EventReader(await app.request('/v1/events?types=flow'))
    const { data } = await reader.nextOf('flow')
    await reader.cancel()
    return data!
  }
  for (const key of ['a', 'b', 'c']) {
    for (let job = 0; job < 3; job++) await producer.enqueue(key, 1)
    await producer.enqueueMany([1, 2, 3].map((data) => ({ key, data })))
  }
  expect(await flowOf()).toMatchObject({ admitted: 6, rejected: 12 })
  await producer.close()
  expect(await (await open()).flow()).toMatchObject({ admitted: 6, rejected: 12 })
})
