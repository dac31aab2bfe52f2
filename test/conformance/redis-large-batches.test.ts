import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { MILLISECOND } from '../../src/core/duration.ts'
import { at, type Request, request } from '../support/backend-driver.ts'
import { connect } from '../support/redis-driver.ts'
import { startRedis } from '../support/redis-server.ts'
import { readsDuring } from '../support/script-reads.ts'
import { RedisStage } from './redis-stage.ts'

// A batch that one call does not take goes out by key, and is answered as if its requests had come one by one.

const LIMITS = {
  'own/*': '4, 1/s, 3/minute, 60 tokens/hour 9 each, 100 at once',
  'wide/*': '400, 1/s, 300/minute, 6000 tokens/hour 9 each',
}
const KEYS = 60
const NEVER = Number.POSITIVE_INFINITY

const keyOf = (n: number) => `${n % 3 === 0 ? 'wide' : 'own'}/${n % KEYS}`

function requestOf(n: number): Request {
  const deadline = n % 7 === 0 ? 900 * MILLISECOND : NEVER
  return request(`j${n}`, { key: keyOf(n), cost: n % 4 === 3 ? 2 : 1, deadline })
}

/** Rounds of all keys, in which lines fill up, some jobs may not wait for long, and some requests come twice. */
function batchOf(rounds: number): Request[] {
  return Array.from({ length: rounds * KEYS }, (_, n) => requestOf(n % 10 === 9 && n >= KEYS ? n - KEYS : n))
}

const open = () => RedisStage.open(LIMITS, { openedAt: at(0) })

async function oneByOne(stage: RedisStage, requests: readonly Request[]) {
  const answers: unknown[] = []
  for (const one of requests) answers.push(await stage.backend.verbs.admit(one, at(0)))
  return answers
}

async function linesOf(stage: RedisStage) {
  const lines = Array.from({ length: KEYS }, (_, n) => stage.views.line(keyOf(n), 100, at(0)))
  return (await Promise.all(lines)).map((line) => line?.jobs)
}

test('a batch of many keys is answered in its order, as one by one', async () => {
  const [together, apart] = [await open(), await open()]
  const requests = batchOf(6)
  const answers = await together.backend.verbs.admitMany(requests, at(0))
  expect(answers).toEqual(await oneByOne(apart, requests))
  const kinds = answers.map(({ admission }) =>
    admission.accepted ? `accepted ${admission.replayed === true}` : admission.reason,
  )
  expect(new Set(kinds)).toEqual(new Set(['accepted false', 'accepted true', 'full', 'deadline']))
  expect(await linesOf(together)).toEqual(await linesOf(apart))
  await together.balances()
})

test('an id that two first segments use names the job of the first request', async () => {
  const [together, apart] = [await open(), await open()]
  const requests = batchOf(6)
  requests.splice(2 * KEYS, 0, request('twin', { key: 'own/59' }), request('twin', { key: 'wide/0' }))
  expect(await together.backend.verbs.admitMany(requests, at(0))).toEqual(await oneByOne(apart, requests))
  for (const stage of [together, apart]) {
    expect(await stage.views.job('twin', at(0))).toMatchObject({ key: 'own/59' })
  }
})

test.each([0, 60])('an id with two keys is a conflict, and the request at %d stands', async (place) => {
  const stage = await open()
  const requests = batchOf(6)
  requests.splice(place, 0, request('same', { key: 'own/59' }))
  requests.push(request('same', { key: 'own/1' }))
  await expect(stage.backend.verbs.admitMany(requests, at(0))).rejects.toMatchObject({
    code: 'id-conflict',
  })
  expect(await stage.views.job('same', at(0))).toMatchObject({ key: 'own/59' })
  await stage.balances()
})

test('a key without a limit lets none of its call in', async () => {
  const stage = await open()
  const requests = [request('stray', { key: 'nowhere' }), ...batchOf(6)]
  await expect(stage.backend.verbs.admitMany(requests, at(0))).rejects.toMatchObject({ code: 'no-limit' })
  expect(await stage.views.audit()).toMatchObject({ waiting: 0 })
})

test('a batch that goes round its keys reads and writes each bucket once', async () => {
  const server = await startRedis()
  const client = new Redis(server.url)
  onTestFinished(() => client.disconnect())
  const stage = await RedisStage.open('400, 1/s, 300/minute, 6000 tokens/hour 9 each', {
    connection: connect(server.url),
    client,
    openedAt: at(0),
  })
  const commandsOf = async (requests: readonly Request[]) =>
    (await readsDuring(stage.redis, () => stage.backend.verbs.admitMany(requests, at(0)))).commands
  const jobs = (count: number, name: string) =>
    Array.from({ length: count }, (_, n) => request(`${name}${n}`, { key: `k${n % 100}` }))
  await commandsOf(jobs(100, 'a'))
  const once = await commandsOf(jobs(100, 'b'))
  // One more job for a key is looked up, and pushed into its line.
  expect(await commandsOf(jobs(200, 'c'))).toBeLessThan(once + 100 * 2 + 20)
})
