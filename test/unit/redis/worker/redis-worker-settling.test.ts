import { expect, test } from 'vitest'
import { RedisWorkerStage } from './redis-worker-stage.ts'

test('an attempt that settles at once settles no earlier than it departed, by a clock that is known to a millisecond', async () => {
  const stage = new RedisWorkerStage(async (job) => {
    await job.settle({ tokens: 5 })
  })
  const times: (readonly [event: string, at: number])[] = []
  for (const name of ['departed', 'settled'] as const) {
    stage.emitter.on(name, ({ at }) => void times.push([name, at]))
  }
  stage.store.trip = () => [1_000, 1_000]
  await stage.open()
  stage.deliver(stage.store.hand('a'))
  await stage.pass(50)
  expect(stage.store.settled).toMatchObject([{ id: 'a1', amounts: { tokens: 5 } }])
  const [[first, departedAt], [second, settledAt]] = times as [(typeof times)[0], (typeof times)[0]]
  expect([first, second]).toEqual(['departed', 'settled'])
  expect(settledAt).toBeGreaterThanOrEqual(departedAt)
  await stage.close()
})
