import { expect, onTestFinished, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import type { RedisBackend } from '../../src/redis/redis-backend.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import type { HandedJob } from '../../src/redis/verbs/handed-job.ts'
import { at, request } from '../support/backend-driver.ts'
import { recount } from '../support/recount.ts'
import { lookAt, openRedisBackend } from '../support/redis-driver.ts'

const LEASE = 10 * SECOND
const ASKED = { scheduler: 'test', lookAhead: 50_000, most: 200, lease: LEASE }
const COMPLETED = { kind: 'completed', result: undefined } as const

const ask = (job: HandedJob) => ({ ...job, worker: 'test', lead: 0, error: 0, lease: LEASE })

/** `alive` and `stuck` are keys below a total. */
async function openFamily(total: string, jobs: Readonly<Record<string, number>>, own = '500, 200/s') {
  const limits = { '*': own, 'a/': total }
  const backend = await openRedisBackend({ limits, openedAt: at(0) })
  onTestFinished(() => backend.wakes.stop())
  for (const [key, count] of Object.entries(jobs)) {
    const requests = Array.from({ length: count }, (_, n) => request(`${key}${n}`, { key: `a/${key}` }))
    await backend.verbs.admitMany(requests, at(0))
  }
  return backend
}

/** A job that was handed over, from when it asks for its slot, or starts in it. */
interface Held {
  readonly job: HandedJob
  at: number
  isGranted: boolean
}

/**
 * Goes on as a scheduler and a worker do, in steps of 5 ms: what is handed over of `alive` starts in its slot and ends, and what is
 * handed over of other keys lies there. Returns the starts, in seconds, and what lies there.
 */
async function play({ verbs, store }: RedisBackend, from: number, until: number) {
  const starts: number[] = []
  const stuck: HandedJob[] = []
  let held: Held[] = []
  for (let step = Math.round(from * 200); step < until * 200; step++) {
    const now = at(step / 200)
    for (const job of (await verbs.claim(0, ASKED, now)).jobs) {
      if (job.key === 'a/alive') held.push({ job, at: now, isGranted: false })
      else stuck.push(job)
    }
    for (const one of held.filter((other) => other.at <= now)) {
      if (one.isGranted) {
        await verbs.start(0, [{ ...one.job, startedAt: now }], now)
        await verbs.finish(0, [{ ...one.job, outcome: COMPLETED }], now)
        held = held.filter((other) => other !== one)
        starts.push(step / 200)
      } else {
        const [answer] = (await verbs.gate(0, [ask(one.job)], now)).answers
        if (answer?.kind === 'granted') Object.assign(one, { at: answer.startAt, isGranted: true })
        else if (answer?.kind === 'returned') held = held.filter((other) => other !== one)
        else if (answer?.kind === 'wait') one.at = answer.until
      }
    }
  }
  expect(await recount(lookAt(), store.tags[0]!)).toEqual([])
  return { starts, stuck }
}

const longestWait = (starts: readonly number[], from: number, until: number) => {
  const times = [from, ...starts, until]
  return Math.max(...times.slice(1).map((time, index) => time - times[index]!))
}

test('a slow family goes on past a job whose worker has died, after its slot and a tenth of a second, at its rate', async () => {
  const backend = await openFamily('900, 5/s', { stuck: 1, alive: 20 })
  const { starts, stuck } = await play(backend, 0, 4)
  expect(stuck).toHaveLength(1)
  expect(starts[0]).toBeLessThan(0.4)
  expect(longestWait(starts, 0.3, 4)).toBeLessThan(0.21)
})

test('jobs that a worker has no handler for take only their own part of a family, until they come back', async () => {
  const backend = await openFamily('900, 40/s', { stuck: 30, alive: 60 })
  const { verbs, store } = backend
  const { starts, stuck } = await play(backend, 0, 1)
  // A worker gives up after a second on jobs that it has no handler for, the last one first.
  expect(stuck.length).toBeGreaterThan(3)
  expect(longestWait(starts, 0, 1)).toBeLessThan(0.26)
  expect(starts.length).toBeGreaterThan(9)
  const outcome = { kind: 'back', worker: 'test' } as const
  for (const { id, epoch } of stuck.toReversed()) await verbs.finish(0, [{ id, epoch, outcome }], at(1))
  expect(await recount(lookAt(), store.tags[0]!)).toEqual([])
})

test('a place of a family is not kept for a job whose worker has died', async () => {
  const backend = await openFamily('900, 20/s, 1 at once', { stuck: 1, alive: 20 })
  const { starts } = await play(backend, 0, 1)
  expect(starts[0]).toBeLessThan(0.21)
  expect(starts.length).toBeGreaterThan(9)
})

test.each([
  ['a/', { 'a/': '900, 2/s' }],
  ['a/b/', { 'a/': '900, 100/s', 'a/b/': '900, 2/s' }],
  ['a/b/', { 'a/': '900, 2/s', 'a/b/': '900, 100/s' }],
  ['a/b/', { 'a/': '900, 100/s', 'a/b/': '900, 100/s, 1 at once' }],
])(
  'a scheduler that claims when it was told to goes on below %s past a dead worker, and claims seldom: %j',
  async (family, totals) => {
    const backend = await openRedisBackend({ limits: { '*': '9, 200/s', ...totals }, openedAt: at(0) })
    onTestFinished(() => backend.wakes.stop())
    const { verbs } = backend
    for (const key of ['stuck', 'waits']) await verbs.admit(request(key, { key: `${family}${key}` }), at(0))
    const found: string[] = []
    let now = at(0)
    for (let claims = 0; ; claims++) {
      expect(claims).toBeLessThan(12)
      const { jobs, nextClaim } = await verbs.claim(0, ASKED, now)
      found.push(...jobs.map(({ id }) => id))
      if (found.length === 2) break
      now = Math.max(now, nextClaim)
    }
    expect(now).toBeLessThan(at(1))
  },
)

/** Claims every 5 ms for two seconds; `work` does something with what is in hand. Returns the most that was in hand. */
async function mostInHand(
  { verbs, store }: RedisBackend,
  work: (held: HandedJob[], step: number) => Promise<void>,
) {
  const held: HandedJob[] = []
  let most = 0
  for (let step = 0; step < 400; step++) {
    held.push(...(await verbs.claim(0, ASKED, at(step / 200))).jobs)
    await work(held, step)
    most = Math.max(most, held.length)
  }
  expect(await recount(lookAt(), store.tags[0]!)).toEqual([])
  return most
}

test('while what was handed over starts as handlers come free, however slowly, no more is in hand than departs within the look-ahead', async () => {
  const backend = await openFamily('900, 400/s', { a: 90, b: 90, c: 90, d: 90, e: 90, f: 90 })
  const { verbs } = backend
  const most = await mostInHand(backend, async (held, step) => {
    const now = at(step / 200)
    if (step % 8 !== 0 || held.length === 0) return
    const job = held.shift()!
    expect((await verbs.gate(0, [ask(job)], now)).answers[0]).toMatchObject({ kind: 'granted', startAt: now })
    await verbs.finish(0, [{ ...job, startedAt: now, outcome: COMPLETED }], now)
  })
  expect(most).toBeLessThanOrEqual(21)
})

test('while a worker that has died has the only slot of a total, no more and more jobs ask for it', async () => {
  const backend = await openFamily('900, 100/s, tolerance 0', { some: 50, others: 50 })
  const most = await mostInHand(backend, async (held, step) => {
    if (step > 0) return
    const { answers } = await backend.verbs.gate(0, held.map(ask), at(0))
    expect(answers.map(({ kind }) => kind)).toEqual(['granted', ...Array(held.length - 1).fill('wait')])
  })
  // It, and those behind it.
  expect(most).toBeLessThanOrEqual(1 + 6)
})

test.each(['a/', 'a/b/'])(
  'a clock that was set back keeps no job waiting below %s for one whose worker has died',
  async (family) => {
    const limits = { '*': '9, 200/s', 'a/': '900, 100/s', [family]: '900, 2/s' }
    const backend = await openRedisBackend({ limits, openedAt: at(0) })
    onTestFinished(() => backend.wakes.stop())
    const { verbs } = backend
    for (const key of ['stuck', 'waits']) await verbs.admit(request(key, { key: `${family}${key}` }), at(100))
    expect((await verbs.claim(0, ASKED, at(100))).jobs).toHaveLength(1)
    const found: string[] = []
    for (let now = at(50); ; ) {
      const { jobs, nextClaim } = await verbs.claim(0, ASKED, now)
      found.push(...jobs.map(({ id }) => id))
      if (found.length > 0) return
      now = Math.max(now + 5_000, nextClaim)
      expect(now).toBeLessThan(at(51))
    }
  },
)

test('a job of which the record is gone counts no more as overdue', async () => {
  const backend = await openFamily('900, 5/s', { stuck: 1, others: 20 })
  const { verbs, store } = backend
  const { stuck } = await play(backend, 0, 0.6)
  expect(stuck.length).toBeGreaterThan(1)
  const tag = store.tags[0]!
  await lookAt().hdel(shardKey(tag, 'jobs'), 'stuck0')
  // Time that is without calls counts for no lease.
  for (let now = 1; now < 12; now++) await verbs.recover(0, {}, at(now))
  expect(await recount(lookAt(), tag)).toEqual([])
})
