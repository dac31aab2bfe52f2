import { expect, onTestFinished, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import type { ClockError } from '../../src/redis/slots/offset.ts'
import { type Grant, StartWindow } from '../../src/redis/slots/start-window.ts'
import type { Claim } from '../../src/redis/verbs/claim.ts'
import { at, request } from '../support/backend-driver.ts'
import { claim, openRedisBackend, startHanded } from '../support/redis-driver.ts'

const INTERVAL = 10_000
const TOLERANCE = 10_000

/** A worker with this grant, whose clock may be off by `error`; the clock shows what the worker takes for the store's time. */
function workerWith(grant: Grant, error: ClockError) {
  let now = 0
  const clock = { now: () => now, wake: () => () => undefined }
  const store = { isSound: true, measurement: 1, toLocal: (time: number) => time, error }
  const ports = { clock, leases: { heldUntil: () => Number.POSITIVE_INFINITY } }
  const window = new StartWindow(ports, store, { id: 'x', epoch: 1, key: 'a', shard: 0 }, grant, 1)
  const { opensAt } = window
  const usable = -window.overdue(opensAt)
  return {
    usable,
    /** When it may really start. */
    earliest: opensAt - error.ahead,
    latest: opensAt + usable + error.behind,
    /** Starts the job so much later than it may. Returns what it reports, and when the start was at the latest. */
    start(late: number) {
      now = opensAt + late
      expect(window.look()).toBeDefined()
      return { reported: window.startedBy(0, 0), latest: now + error.behind }
    },
  }
}

const evenly = (error: number): ClockError => ({ ahead: error, behind: error })
const lopsided = [
  { ahead: 0, behind: 6_000 },
  { ahead: 6_000, behind: 0 },
  { ahead: 500, behind: 11_000 },
]

test.each([...[0, 500, 1_500, 3_000, 4_000, 6_000, 20_000].map(evenly), ...lopsided])(
  'starts below a total keep its pace where the clocks of workers are up to $ahead us ahead and $behind us behind',
  async (error) => {
    const backend = await openRedisBackend({
      limits: { 'a/*': '9, 500/s', 'a/': '900, 100/s' },
      openedAt: at(0),
    })
    onTestFinished(() => backend.wakes.stop())
    const { verbs } = backend
    const keys = Array.from({ length: 8 }, (_, n) => `a/${n}`)
    for (const key of keys) await verbs.admit(request(key, { key }), at(0))
    const { jobs } = await claim(verbs, at(0), 250_000, 200)
    const asks = jobs.map((job) => ({
      ...job,
      worker: 'test',
      lead: 0,
      lease: SECOND,
      error: error.ahead + error.behind,
    }))
    const { answers } = await verbs.gate(0, asks, at(0))
    // Slots further away than 250 ms are not granted.
    const granted = answers.filter((answer): answer is Grant => answer.kind === 'granted')
    const ranges = granted.map((grant) => workerWith(grant, error))
    expect(ranges.length).toBeGreaterThan(4)
    for (const [index, { usable, latest }] of ranges.entries()) {
      expect(usable).toBeGreaterThan(2_000)
      for (const [further, { earliest }] of ranges.slice(index + 1).entries()) {
        expect(earliest - latest).toBeGreaterThanOrEqual((further + 1) * INTERVAL - TOLERANCE)
      }
    }
  },
)

// With so little tolerance a total has one slot at a time, and any start may be late.
test.each([
  ['0', 0, evenly(200)],
  ['0', 0, evenly(2_000)],
  ['0', 0, { ahead: 1_000, behind: 100 }],
  ['1ms', 1_000, evenly(200)],
  ['1ms', 1_000, evenly(2_000)],
  ['3ms', 3_000, evenly(400)],
  ['3ms', 3_000, { ahead: 100, behind: 2_000 }],
])(
  'a total with tolerance %s above keys that tolerate more keeps it, where clocks are off',
  async (text, tolerance, error) => {
    for (let late = 0; late <= tolerance + 600; late += 100) {
      const limits = { 'a/*': '9, 50/s', 'a/': `900, 100/s, tolerance ${text}` }
      const backend = await openRedisBackend({ limits, openedAt: at(0) })
      const { verbs } = backend
      for (const key of ['a/1', 'a/2']) await verbs.admit(request(key, { key }), at(0))
      const { jobs } = await claim(verbs, at(0), 250_000, 200)
      const [first, second] = jobs.map((job) => ({ ...job, worker: 'test', lead: 0, lease: SECOND }))
      const ask = async (job: typeof first, now: number) => {
        const asked = { ...job!, error: error.ahead + error.behind }
        const [answer] = (await verbs.gate(0, [asked], now)).answers
        expect(answer!.kind).toBe('granted')
        return workerWith(answer as Grant, error)
      }
      const { reported, latest } = (await ask(first, at(0))).start(late)
      await verbs.start(0, [{ ...first!, startedAt: reported }], latest)
      const { earliest } = await ask(second, latest)
      expect(earliest - latest, `late by ${late}`).toBeGreaterThanOrEqual(INTERVAL - tolerance)
      backend.wakes.stop()
    }
  },
)

test.each([
  ['the one that is handed over anew asks first', false],
  ['the one that gives its slot back asks first', true],
])(
  'no job below a total starts too early after a jump of the clock of Redis, where %s',
  async (_, isBackFirst) => {
    const backend = await openRedisBackend({
      limits: { 'a/*': '9, 100/s', 'a/': '900, 1/s' },
      openedAt: at(0),
    })
    onTestFinished(() => backend.wakes.stop())
    const { verbs } = backend
    for (const [second, key] of ['a/1', 'a/2', 'a/3'].entries()) {
      await verbs.admit(request(`before-${key}`, { key }), at(second))
      const [job] = (await claim(verbs, at(second), 0, 1)).jobs
      await startHanded(verbs, job!, at(second))
      const outcome = { kind: 'completed', result: undefined } as const
      await verbs.finish(0, [{ id: job!.id, epoch: job!.epoch, outcome }], at(second + 0.001))
    }
    const ask = (job: Claim['jobs'][number], more: { readonly missed?: number } = {}) => {
      return { ...job, worker: 'test', lead: 0, error: 0, lease: 60 * SECOND, ...more }
    }
    await verbs.admit(request('back', { key: 'a/1' }), at(2.7))
    const [back] = (await claim(verbs, at(2.8), 250_000, 1)).jobs
    const [slot] = (await verbs.gate(0, [ask(back!)], at(2.8))).answers as readonly Grant[]
    expect(slot).toMatchObject({ kind: 'granted', startAt: at(3) })
    await verbs.admit(request('anew', { key: 'a/2' }), at(2.85))
    // From now on nothing starts for as long as the total keeps two starts apart.
    await verbs.quarantine(0, at(3.9), 'jump', 0)
    const [anew] = (await claim(verbs, at(3.91), 250_000, 5)).jobs
    expect(anew!.id).toBe('anew')
    const asks = [ask(anew!), ask(back!, { missed: slot!.slot })]
    const { answers } = await verbs.gate(0, isBackFirst ? asks.toReversed() : asks, at(3.92))
    expect(answers.map(({ kind }) => kind)).toEqual(['returned', 'returned'])
  },
)

test.each([
  ['jump', 9],
  ['step', 0.003],
] as const)(
  'after a %s of the clock of Redis no start waits for slots of its total that were granted later',
  async (reason, by) => {
    const backend = await openRedisBackend({
      limits: { z: '900, 100/s', 'a/*': '9, 100/s', 'a/': '3000, 20/s' },
      openedAt: at(0),
    })
    onTestFinished(() => backend.wakes.stop())
    const { verbs } = backend
    await verbs.admit(request('costly', { key: 'z', cost: 100 }), at(1))
    await claim(verbs, at(1), 0, 9)
    for (const n of [0, 1, 2, 3]) await verbs.admit(request(`job-${n}`, { key: `a/${n % 2}` }), at(10))
    for (const second of [10, 10.1]) {
      const [job] = (await claim(verbs, at(second), 0, 1)).jobs
      await startHanded(verbs, job!, at(second))
    }
    await verbs.quarantine(0, at(20), reason, by * SECOND)
    const { jobs } = await claim(verbs, at(21), 250_000, 9)
    const asks = jobs.map((job) => ({ ...job, worker: 'test', lead: 0, error: 0, lease: 60 * SECOND }))
    const { answers } = await verbs.gate(0, asks, at(21))
    expect(answers.map(({ kind }) => kind)).toEqual(['granted', 'granted'])
  },
)

test.each([
  ['jumps', 'jump', 86_400],
  ['is set forward by a second', 'step', 1],
  ['is set back', 'jump', -5],
] as const)(
  'a total keeps its pace behind a slot that was granted before the clock of Redis %s, and is used after that',
  async (_, reason, by) => {
    const backend = await openRedisBackend({
      limits: { 'a/*': '9, 100/s', 'a/': '900, 5/s' },
      openedAt: at(0),
    })
    onTestFinished(() => backend.wakes.stop())
    const { verbs } = backend
    const ask = (job: Claim['jobs'][number], more: { readonly missed?: number } = {}) => {
      return { ...job, worker: 'test', lead: 0, error: 0, lease: 60 * SECOND, ...more }
    }
    for (const [id, key] of ['a/1', 'a/2', 'a/1'].entries())
      await verbs.admit(request(`job-${id}`, { key }), at(10))
    const [first, second] = (await claim(verbs, at(10), 250_000, 2)).jobs
    await startHanded(verbs, first!, at(10))
    const [slot] = (await verbs.gate(0, [ask(second!)], at(10.1))).answers as readonly Grant[]
    expect(slot).toMatchObject({ kind: 'granted', startAt: at(10.2) })
    // The worker of the second job has not noticed, and starts it in 50 ms.
    const set = 10.15 + by
    const [third] = (await claim(verbs, at(set), 250_000, 2)).jobs
    await verbs.gate(0, third === undefined ? [] : [ask(third)], at(set))
    await verbs.quarantine(0, at(set + 0.001), reason, by * SECOND)
    const starts: number[] = []
    for (let hundredth = 1; hundredth < 200 && starts.length === 0; hundredth++) {
      const now = at(set + hundredth / 100)
      const waiting =
        third === undefined || hundredth > 1 ? (await claim(verbs, now, 250_000, 2)).jobs : [third]
      for (const job of waiting) {
        const [answer] = (await verbs.gate(0, [ask(job, { missed: at(set) })], now)).answers
        if (answer?.kind === 'granted') starts.push((answer.startAt - at(set)) / SECOND)
      }
    }
    expect(starts).toHaveLength(1)
    expect(starts[0]).toBeGreaterThanOrEqual(0.24)
  },
)
