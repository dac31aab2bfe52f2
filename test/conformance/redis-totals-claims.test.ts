import { Redis } from 'ioredis'
import { expect, onTestFinished, test, vi } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import type { Store } from '../../src/redis/scripts/store.ts'
import { EntryCounter } from '../bounds/work.ts'
import { allScripts } from '../fuzz/scripts/all-scripts.ts'
import { at, request } from '../support/backend-driver.ts'
import { recount } from '../support/recount.ts'
import { claim, connect, lookAt, openRedisBackend, startHanded } from '../support/redis-driver.ts'
import { startRedis } from '../support/redis-server.ts'

/** Ten children of a total with a job each, the first of which has departed at the second 0 and ended. */
async function tenChildren() {
  const backend = await openRedisBackend({ limits: { 'a/*': '9, 50/s', 'a/': '900, 10/s' }, openedAt: at(0) })
  onTestFinished(() => backend.wakes.stop())
  const keys = Array.from({ length: 10 }, (_, n) => `a/${n}`)
  await backend.verbs.admitMany(
    keys.map((key) => request(key, { key })),
    at(0),
  )
  return backend
}

/** No bucket follows a change of its rule until it is written for another reason. */
function holdRetime(store: Store) {
  const run = store.run.bind(store)
  return vi.spyOn(store, 'run').mockImplementation((script, ...rest) => {
    return script.verb === 'retime' ? new Promise(() => {}) : run(script, ...rest)
  })
}

test('a claim says when the next job of a family is to be handed over, behind those that it handed over itself', async () => {
  const { verbs } = await tenChildren()
  const { jobs, nextClaim } = await claim(verbs, at(0), 250_000, 200)
  expect(jobs).toHaveLength(3)
  expect(nextClaim).toBe(at(0.3) - 250_000)
  for (const job of jobs)
    await verbs.gate(0, [{ ...job, worker: 'test', lead: 0, error: 0, lease: SECOND }], at(0))
  expect(await claim(verbs, at(0.04), 250_000, 200)).toMatchObject({ jobs: [], nextClaim })
  expect((await claim(verbs, at(0.05), 250_000, 200)).jobs).toHaveLength(1)
})

test('a child without work is looked at again when virtual time may have passed its tag, not all the time', async () => {
  const { verbs } = await tenChildren()
  const [job] = (await claim(verbs, at(0), 0, 200)).jobs
  const { epoch } = job!
  await startHanded(verbs, job!, at(0))
  await verbs.finish(
    0,
    [{ id: job!.id, epoch, outcome: { kind: 'completed', result: undefined } }],
    at(0.001),
  )
  // Its own pace is over after 20 ms; its tag is a round ahead of the nine others.
  const { nextForgetting } = await claim(verbs, at(0.03), 0, 200)
  expect(nextForgetting - at(0.5)).toBeGreaterThan(0.5 * SECOND)
  expect(nextForgetting - at(0.5)).toBeLessThan(1.1 * SECOND)
})

test('a family within whose freeze runs out joins once, also where another is handed over first', async () => {
  const limits = { 'a/*': '9, 50/s', 'a/': '900, 10/s', 'a/x/': '900, 10/s' }
  const backend = await openRedisBackend({ limits, openedAt: at(0) })
  onTestFinished(() => backend.wakes.stop())
  const { verbs } = backend
  const admit = (id: string, key: string, seconds: number) => verbs.admit(request(id, { key }), at(seconds))
  for (let n = 0; n < 5; n++) await admit(`x${n}`, 'a/x/1', 0)
  for (const seconds of [0, 0.1, 0.2]) {
    const [job] = (await claim(verbs, at(seconds), 0, 200)).jobs
    await startHanded(verbs, job!, at(seconds))
    const outcome = { kind: 'completed', result: undefined } as const
    await verbs.finish(0, [{ id: job!.id, epoch: job!.epoch, outcome }], at(seconds + 0.001))
  }
  for (let n = 0; n < 2; n++) await admit(`y${n}`, 'a/y', 0.25)
  await verbs.freeze('a/x/', 0.25 * SECOND, at(0.25))
  const { jobs } = await claim(verbs, at(0.5), 0, 200)
  expect(jobs.map(({ key }) => key)).toEqual(['a/y'])
  await admit('x5', 'a/x/1', 0.51)
  expect(await recount(lookAt(), backend.store.tags[0]!)).toEqual([])
})

test('another weight is counted once, however often a request is refused before its bucket is gone through', async () => {
  const limits = { 'a/*': '2, 50/s', 'a/': '900, 10/s' }
  const backend = await openRedisBackend({ limits, openedAt: at(0) })
  onTestFinished(() => backend.wakes.stop())
  const { verbs, store, rules } = backend
  for (const id of ['x', 'y']) await verbs.admit(request(id, { key: 'a/1' }), at(0))
  await verbs.admit(request('z', { key: 'a/2' }), at(0))
  const going = holdRetime(store)
  void rules.change({ kind: 'set', rule: parseRule('a/1', '2, 50/s, weight 3') }, at(0.01))
  await expect.poll(() => rules.book.find('a/1')?.limit.weight).toBe(3)
  for (let n = 0; n < 3; n++) {
    expect(await verbs.admit(request(`n${n}`, { key: 'a/1' }), at(0.02))).toMatchObject({
      admission: { accepted: false },
    })
  }
  going.mockRestore()
  expect(await recount(lookAt(), store.tags[0]!)).toEqual([])
  const [job] = (await claim(verbs, at(0.03), 0, 200)).jobs
  await startHanded(verbs, job!, at(0.03))
  expect(await recount(lookAt(), store.tags[0]!)).toEqual([])
})

test('a costly job waits for the starts that were granted before it and may come late', async () => {
  const limits = { 'a/*': '9, 500/s', 'a/': '900, 200/s, tolerance 20ms' }
  const backend = await openRedisBackend({ limits, openedAt: at(0) })
  onTestFinished(() => backend.wakes.stop())
  const { verbs } = backend
  await verbs.admit(request('first', { key: 'a/1' }), at(0))
  await verbs.admit(request('cheap', { key: 'a/2' }), at(0))
  await verbs.admit(request('costly', { key: 'a/3', cost: 6 }), at(0))
  const { jobs } = await claim(verbs, at(0), 250_000, 200)
  const asks = jobs.map((job) => ({ ...job, worker: 'test', lead: 0, error: 0, lease: SECOND }))
  const { answers } = await verbs.gate(0, asks, at(0))
  const granted = answers.map((answer) => (answer.kind === 'granted' ? answer : undefined)!)
  // 30 ms for a cost of six, less the tolerance: whatever starts last of the others must be over.
  const others = granted.filter(({ job }) => job.cost === 1)
  const costly = granted.find(({ job }) => job.cost === 6)!
  expect(others).toHaveLength(2)
  for (const other of others) expect(other.latest).toBeLessThanOrEqual(costly.startAt)
})

test('a child whose only job comes back without having started keeps its turn, however often', async () => {
  const backend = await openRedisBackend({ limits: { 'a/*': '9, 50/s', 'a/': '900, 10/s' }, openedAt: at(0) })
  onTestFinished(() => backend.wakes.stop())
  const { verbs, store } = backend
  for (let n = 0; n < 5; n++) await verbs.admit(request(`busy${n}`, { key: 'a/1' }), at(0))
  await verbs.admit(request('only', { key: 'a/2' }), at(0))
  const [first] = (await claim(verbs, at(0), 0, 1)).jobs
  expect(first!.key).toBe('a/1')
  await startHanded(verbs, first!, at(0))
  for (let n = 0; n < 5; n++) {
    const [job] = (await claim(verbs, at(0.1), 0, 1)).jobs
    expect(job).toMatchObject({ id: 'only', key: 'a/2' })
    const outcome = { kind: 'back', worker: 'test' } as const
    await verbs.finish(0, [{ id: 'only', epoch: job!.epoch, outcome }], at(0.1))
    expect(await recount(lookAt(), store.tags[0]!)).toEqual([])
  }
})

test('a job comes back although a total has come between those above it, and all is counted once', async () => {
  const limits = { '*': '9, 50/s', 'a/': '900, 10/s', 'a/b/c/': '900, 10/s' }
  const backend = await openRedisBackend({ limits, openedAt: at(0) })
  onTestFinished(() => backend.wakes.stop())
  const { verbs, store, rules } = backend
  holdRetime(store)
  await verbs.admit(request('x', { key: 'a/b/c/1' }), at(0))
  const [x] = (await claim(verbs, at(0), 0, 1)).jobs
  void rules.change({ kind: 'set', rule: parseRule('a/b/', '900, 10/s') }, at(0.01))
  await expect.poll(() => rules.book.totalsOf('a/b/c/2')).toHaveLength(3)
  await verbs.admit(request('y', { key: 'a/b/c/2' }), at(0.02))
  const [y] = (await claim(verbs, at(0.2), 250_000, 1)).jobs
  for (const job of [x!, y!]) {
    const outcome = { kind: 'back', worker: 'test' } as const
    await verbs.finish(0, [{ id: job.id, epoch: job.epoch, outcome }], at(0.3))
    expect(await recount(lookAt(), store.tags[0]!)).toEqual([])
  }
})

test('where a total comes above another, that one no more stands for its family', async () => {
  const backend = await openRedisBackend({ limits: { '*': '9, 50/s', 'a/b/': '900, 4/s' }, openedAt: at(0) })
  onTestFinished(() => backend.wakes.stop())
  const { verbs, store, rules } = backend
  for (let n = 0; n < 5; n++) await verbs.admit(request(`b${n}`, { key: 'a/b/1' }), at(0))
  await rules.change({ kind: 'set', rule: parseRule('a/', '900, 2/s') }, at(0.01))
  await expect.poll(() => lookAt().hget(`${store.tags[0]}:meta`, 'retimed')).toBe(`${rules.book.version}`)
  await verbs.admit(request('other', { key: 'a/other' }), at(0.02))
  expect(await recount(lookAt(), store.tags[0]!)).toEqual([])
})

test('a job that asks again for its slot, because the answer was lost, does not start before those of its totals', async () => {
  const limits = { 'a/*': '9, 10/s', 'a/': '900, 1 per 52ms' }
  const backend = await openRedisBackend({ limits, openedAt: at(0) })
  onTestFinished(() => backend.wakes.stop())
  const { verbs } = backend
  for (const id of ['x', 'y']) await verbs.admit(request(id, { key: 'a/1' }), at(0))
  await verbs.admit(request('z', { key: 'a/2' }), at(0))
  for (const seconds of [0, 0.052])
    await startHanded(verbs, (await claim(verbs, at(seconds), 0, 1)).jobs[0]!, at(seconds))
  const [job] = (await claim(verbs, at(0.104), 250_000, 1)).jobs
  const asked = { ...job!, worker: 'test', lead: 0, error: 0, lease: SECOND }
  const ask = async () => (await verbs.gate(0, [asked], at(0.09))).answers[0]
  const first = await ask()
  expect(first).toMatchObject({ kind: 'granted', startAt: at(0.104) })
  expect(await ask()).toMatchObject({ kind: 'granted', startAt: at(0.104) })
})

test.each([
  ['900, 10/s', 'come back'],
  ['900, 10/s', 'start'],
  ['900, 10/s, 600/h', 'come back'],
  ['900, 10/s, 600/h', 'start'],
])(
  'jobs that were handed over before their total %s came, and then %s, give their child no turn more',
  async (total, fate) => {
    const backend = await openRedisBackend({ limits: { 'a/*': '99, 20/s' }, openedAt: at(0) })
    onTestFinished(() => backend.wakes.stop())
    const { verbs, rules, store } = backend
    const admit = async (key: string) => {
      const requests = Array.from({ length: 12 }, (_, n) => request(`${key}-${n}`, { key }))
      await verbs.admitMany(requests, at(0))
    }
    await admit('a/1')
    const { jobs } = await claim(verbs, at(0), 150_000, 8)
    expect(jobs).toHaveLength(3)
    await admit('a/2')
    await rules.change({ kind: 'set', rule: parseRule('a/', total) }, at(0.01))
    const starts = { 'a/1': 0, 'a/2': 0 }
    const start = async (job: (typeof jobs)[number], now: number) => {
      await startHanded(verbs, job, now)
      await verbs.finish(0, [{ ...job, outcome: { kind: 'completed', result: undefined } }], now)
      starts[job.key as keyof typeof starts]++
    }
    const back = { kind: 'back', worker: 'test' } as const
    if (fate === 'come back') await verbs.finish(0, [{ ...jobs[0]!, outcome: back }], at(0.02))
    else for (const [n, job] of jobs.entries()) await start(job, at(0.02 + 0.1 * n))
    expect(await recount(lookAt(), store.tags[0]!)).toEqual([])
    for (let turn = 1; turn <= 8; turn++) {
      const now = at(0.3 + 0.1 * turn)
      await start((await claim(verbs, now, 0, 1)).jobs[0]!, now)
    }
    expect(Math.abs(starts['a/1'] - starts['a/2'])).toBeLessThanOrEqual(1)
  },
)

test('a claim does no more for a thousand children with work than for a hundred', async () => {
  const server = await startRedis()
  const client = new Redis(server.url)
  onTestFinished(() => client.disconnect())
  const counter = new EntryCounter(client, allScripts())
  const workAmong = async (count: number) => {
    const limits = { 'a/*': '9, 50/s', 'a/': '9000, 100/s' }
    const backend = await openRedisBackend({ limits, openedAt: at(0), connection: connect(server.url) })
    const { verbs, wakes } = backend
    onTestFinished(() => wakes.stop())
    const requests = Array.from({ length: 2 * count }, (_, n) => request(`j${n}`, { key: `a/${n % count}` }))
    for (let from = 0; from < requests.length; from += 200)
      await verbs.admitMany(requests.slice(from, from + 200), at(0))
    // All have joined when the first is handed over.
    let calls = 0
    while ((await claim(verbs, at(1), 0, 1)).jobs.length === 0) expect(++calls).toBeLessThan(count)
    let jobs = 0
    const works = await counter.during(async () => {
      jobs = (await claim(verbs, at(1), 250_000, 200)).jobs.length
    })
    expect(jobs).toBe(25)
    expect(works).toHaveLength(1)
    return works[0]!.cost
  }
  const few = await workAmong(100)
  expect(few).toBeGreaterThan(25)
  expect(await workAmong(1_200)).toBeLessThanOrEqual(few + 50)
})
