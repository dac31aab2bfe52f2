import { expect, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { at } from '../support/backend-driver.ts'
import type { RedisStage } from './redis-stage.ts'
import { running } from './running.ts'

test('what a worker has of a run starts no later than a quarter of a second after the slot that a pause waits for', async () => {
  const { stage, jobs } = await running('vwxyz')
  const { departsAt } = await stage.backend.verbs.pause('a', at(0.001))
  expect(departsAt).toBe(at(0.04))
  expect(jobs.map(({ latest }) => latest)).toEqual([0.26, 0.27, 0.28, 0.29].map(at))
  const again = await stage.follow(0, 0.002, { most: 0 })
  expect(again.jobs.map(({ latest }) => latest)).toEqual(jobs.map(({ latest }) => latest))
  // It takes off by how much its clock may be wrong.
  const unsure = await stage.follow(0, 0.002, { most: 0, error: 0.02 * SECOND })
  expect(unsure.jobs.map(({ latest }) => latest)).toEqual([0.28, 0.29, 0.3, 0.31].map(at))
})

test.each<[string, (stage: RedisStage) => Promise<unknown>]>([
  ['a turn', (stage) => stage.admit('~caller~1', 0.001, { isTurn: true })],
  [
    'others, since the limit became slow',
    async (stage) => {
      await stage.backend.rules.change({ kind: 'set', rule: parseRule('*', '99, 30/s') }, at(0.001))
      await stage.lineUp('ab', 0.001)
    },
  ],
])('a freeze waits for the last slot of a run also where behind it is handed over: %s', async (_, come) => {
  const { stage, first, jobs } = await running('vwxyz')
  await come(stage)
  await stage.start(first, 0.001)
  await stage.claim(0.002, { lookAhead: 250_000 })
  expect(await stage.views.audit()).toMatchObject({ handed: expect.toSatisfy((handed) => handed > 4) })
  const { departsAt } = await stage.backend.verbs.freeze('a', SECOND, at(0.003))
  expect(departsAt).toBe(at(0.04))
  expect(jobs.at(-1)!.latest).toBe(at(0.29))
})
