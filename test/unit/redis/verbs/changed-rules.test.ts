import { expect, test } from 'vitest'
import { DAY, MINUTE } from '../../../../src/core/duration.ts'
import { LayeredBook, parseLayer } from '../../../../src/core/layered-book.ts'
import type { RedisRules } from '../../../../src/redis/rules/redis-rules.ts'
import type { Store } from '../../../../src/redis/scripts/store.ts'
import { admitVerb } from '../../../../src/redis/verbs/admit.ts'
import { forecastVerb } from '../../../../src/redis/verbs/forecast.ts'
import { request } from '../../../support/backend-driver.ts'

const NOW = 1.8e15

function bookOf(limit: string): LayeredBook {
  return LayeredBook.of(parseLayer({ 'a/*': limit }))
}

/** While a script answers, the rule of the key changes to `after`. */
function stage(before: string, after: string, answer: object) {
  const rules = { book: bookOf(before), version: 1, settle: () => Promise.resolve() }
  const call = () => {
    rules.book = bookOf(after)
    return Promise.resolve(answer)
  }
  const store = { tags: ['x'], shards: 1, shardOf: () => 0, read: call, write: call }
  return { rules: rules as unknown as RedisRules, store: store as unknown as Store }
}

test('what holds a job is named by the rule that the script was asked with', async () => {
  const quota = { index: 1, until: NOW + DAY, units: 1, needed: 1, used: 3, isOwn: true }
  const held = { frozenUntil: 0, paused: false, isFull: false, quota }
  const yes = { kind: 'yes', position: 1, departsAt: NOW + DAY, waiting: 1, capacity: 5, held, totals: [] }
  const answer = { kind: 'ok', at: NOW, verdict: yes }
  const { rules, store } = stage('5, 1/s, 2/minute, 3/day', '5, 1/s', answer)
  const admission = await forecastVerb(store, rules)('a/1', 1)
  expect(admission).toMatchObject({ accepted: true, heldBy: { reason: 'quota', quota: '3/day' } })
})

test('a quota that a job alone exceeds is named by that rule, too', async () => {
  const above = { kind: 'above', quota: 1, waiting: 0, capacity: 5 }
  const asked = stage('5, 1/s, 2/minute', '5, 1/s, 7/day', { kind: 'ok', at: NOW, verdict: above })
  expect(await forecastVerb(asked.store, asked.rules)('a/1', 3)).toMatchObject({ quota: '2/minute' })
  const admitted = stage('5, 1/s, 2/minute', '5, 1/s, 7/day', { kind: 'ok', at: NOW, verdicts: [above] })
  const memory = { assertRoom: () => undefined }
  const admit = admitVerb(admitted.store, admitted.rules, memory as never)
  const [found] = await admit(0, [request('j', { key: 'a/1', cost: 3, deadline: MINUTE })])
  expect(found!.admission).toMatchObject({ accepted: false, quota: '2/minute' })
})
