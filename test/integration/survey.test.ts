import { expect, onTestFinished, test } from 'vitest'
import { Shaper } from '../../src/index.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'

test('on Redis a survey shows every live bucket, in all shards', async () => {
  const shaper = new Shaper('survey', {
    limits: { '*': '5, 1/h' },
    connection: redisAddress(),
    prefix: uniquePrefix(),
    shards: 3,
  })
  onTestFinished(() => shaper.close())
  const keys = Array.from({ length: 2_000 }, (_, n) => `${n % 50}/k/${n}`)
  for (let from = 0; from < keys.length; from += 1_000) {
    await shaper.enqueueMany(keys.slice(from, from + 1_000).map((key) => ({ key, data: 0 })))
  }
  const seen = new Set<string>()
  let pages = 0
  for await (const page of shaper.survey()) {
    pages++
    for (const { key } of page) seen.add(key)
    const [view] = page
    if (view !== undefined) {
      // Since nothing runs, the longer a job waits, the later it departs.
      const { oldestWaitMs, nextDepartureAt, ...rest } = view
      expect(await shaper.inspect(view.key)).toMatchObject(rest)
    }
  }
  expect([...seen].sort()).toEqual(keys.sort())
  expect(pages).toBeGreaterThanOrEqual(6)
})

test('on Redis a survey of totals shows every live one, in all shards', async () => {
  const shaper = new Shaper('survey', {
    limits: { '*': '5, 1/h', '*/': '99, 1/h', '*/*/': '9, 1/h' },
    connection: redisAddress(),
    prefix: uniquePrefix(),
    shards: 3,
  })
  onTestFinished(() => shaper.close())
  const keys = Array.from({ length: 500 }, (_, n) => `${n % 20}/k${n % 300}/${n}`)
  await shaper.enqueueMany(keys.map((key) => ({ key, data: 0 })))
  const seen = new Set<string>()
  for await (const page of shaper.surveyFamilies()) {
    for (const view of page) {
      seen.add(view.path)
      const { nextDepartureAt, ...rest } = view
      expect(await shaper.inspect(view.path as `${string}/`)).toMatchObject(rest)
    }
  }
  const paths = keys.flatMap((key) => [key.split('/', 1)[0], key.split('/', 2).join('/')])
  expect([...seen].sort()).toEqual([...new Set(paths)].map((path) => `${path}/`).sort())
})
