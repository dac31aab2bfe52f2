import { describe, expect, test } from 'vitest'
import { at, COMPLETED, request, TURN_CALLER } from '../support/backend-driver.ts'
import { FamilyStage, STEP } from '../support/family-stage.ts'
import { claim, lookAt, openRedisBackend, startHanded } from '../support/redis-driver.ts'
import { DRIVERS, openFor } from './drivers.ts'

describe.each(DRIVERS)('%s: below a total', (_, open) => {
  test('all together depart at its pace, each by its weight', async () => {
    const family = await FamilyStage.open(open, {
      'a/*': '100, 10/s',
      'a/2': '100, 10/s, weight 3',
      'a/': '200, 4/s',
    })
    await family.fill('a/1', 30)
    await family.fill('a/2', 30)
    await family.pass(10)
    expect(family.starts.map(({ seconds }) => seconds)).toEqual(
      family.starts.map((_, index) => Math.round((STEP + index * 0.25) * 100) / 100),
    )
    const { 'a/1': one = 0, 'a/2': two = 0 } = family.counts()
    expect(one + two).toBe(40)
    expect(two).toBeGreaterThanOrEqual(29)
    expect(one).toBeGreaterThanOrEqual(9)
  })

  test('a flood does not make the others wait, and what its own limit holds back costs the others nothing', async () => {
    const family = await FamilyStage.open(open, {
      'a/*': '1000, 100/s',
      'a/slow': '1000, 1/s',
      'a/': '2000, 10/s',
    })
    await family.fill('a/flood', 300)
    await family.fill('a/slow', 20)
    await family.pass(3)
    await family.fill('a/calm', 3)
    await family.pass(1)
    const { 'a/calm': calm = 0, 'a/slow': slow = 0, 'a/flood': flood = 0 } = family.counts(3)
    expect(calm).toBe(3)
    expect(slow).toBe(1)
    expect(flood).toBe(6)
  })

  test('totals nest, and a bucket departs at the latest of all', async () => {
    const family = await FamilyStage.open(open, { '*': '100, 10/s', 'a/': '200, 10/s', 'a/x/': '100, 2/s' })
    for (const key of ['a/x/1', 'a/x/2', 'a/y', 'a']) await family.fill(key, 40)
    await family.pass(5)
    const { 'a/x/1': x1 = 0, 'a/x/2': x2 = 0, 'a/y': y = 0, a = 0 } = family.counts()
    expect(x1 + x2).toBe(10)
    expect(Math.abs(x1 - x2)).toBeLessThanOrEqual(1)
    expect(x1 + x2 + y + a).toBe(50)
    expect(Math.abs(y - a)).toBeLessThanOrEqual(1)
  })

  test('it refuses what it has no room for, says where, and leaves room for others', async () => {
    const family = await FamilyStage.open(open, { 'a/*': '100, 10/s', 'a/': '20, 2/s' })
    const flood = await family.fill('a/1', 20)
    expect(flood.filter(Boolean)).toHaveLength(16)
    expect(await family.admit('a/1')).toMatchObject({ reason: 'full', at: 'a/', waiting: 16, capacity: 20 })
    expect(await family.fill('a/2', 2)).toEqual([true, true])
    expect(await family.admit('a/1', { cost: 21 })).toMatchObject({ reason: 'too-costly', at: 'a/' })
    expect(await family.driver.forecast('a/1', 21, family.now)).toMatchObject({
      reason: 'too-costly',
      at: 'a/',
    })
    expect(await family.driver.forecast('a/3', 1, family.now)).toMatchObject({
      accepted: true,
      isEstimate: true,
    })
    const late = await family.admit('a/1', { deadline: at(5) })
    expect(late).toMatchObject({ reason: 'deadline', at: 'a/' })
  })

  test('a job that came back to its line departs before the next, which may be certainly late for that', async () => {
    const driver = await openFor(open, { '*': '9, 100/s', 'a/': '9, 1/s' })
    await driver.admit(request('long', { key: 'a/1', cost: 4 }), at(0))
    await driver.startNext(at(0))
    await driver.finish('long', { kind: 'freeze', until: at(0) }, at(0))
    const by = (seconds: number) => request(`by-${seconds}`, { key: 'a/1', deadline: at(seconds) })
    expect(await driver.admit(by(7), at(1))).toMatchObject({ reason: 'deadline', at: 'a/' })
    expect(await driver.admit(by(8), at(1))).toMatchObject({ accepted: true })
  })

  test('many at once are judged one after the other', async () => {
    const family = await FamilyStage.open(open, { 'a/*': '100, 10/s', 'a/': '20, 2/s' })
    const requests = Array.from({ length: 30 }, (_, n) => request(`m${n}`, { key: n % 2 ? 'a/1' : 'a/2' }))
    const answers = await family.driver.admitMany(requests, family.now)
    const accepted = answers.filter((answer) => answer.accepted).length
    expect(accepted).toBeGreaterThan(16)
    expect(accepted).toBeLessThanOrEqual(20)
    const { waiting } = await family.driver.audit()
    expect(waiting).toBe(accepted)
  })

  test('alone below it, a job departs when it was told, and a retry after the time that was told gets in', async () => {
    const family = await FamilyStage.open(open, { 'a/*': '100, 10/s', 'a/': '10, 2/s' })
    const first = await family.fill('a/1', 8)
    expect(first.every(Boolean)).toBe(true)
    const refused = await family.admit('a/1')
    expect(refused).toMatchObject({ accepted: false, reason: 'full', at: 'a/' })
    expect(refused).not.toHaveProperty('isEstimate')
    const { retryAfterMs } = refused as { retryAfterMs: number }
    await family.pass(Math.ceil(retryAfterMs / 10) / 100)
    const answer = await family.admit('a/1', {}, 'told')
    expect(answer).toMatchObject({ accepted: true })
    expect(answer).not.toHaveProperty('isEstimate')
    await family.pass(6)
    const { seconds } = family.starts.find(({ id }) => id === 'told')!
    const told = ((answer as { departsAt: number }).departsAt * 1_000 - at(0)) / 1_000_000
    expect(seconds).toBeGreaterThanOrEqual(told - 0.001)
    expect(seconds).toBeLessThanOrEqual(told + STEP + 0.001)
  })

  test('its places bound what runs, turns and jobs together; a free one wakes the next', async () => {
    const family = await FamilyStage.open(open, { 'a/*': '100, 50/s', 'a/': '100, 50/s, 2 at once' })
    await family.fill('a/1', 3)
    await family.admit('a/2', {}, `~${TURN_CALLER}~t`)
    await family.pass(1, { isKept: true })
    expect(family.starts).toHaveLength(2)
    await family.driver.finish(family.running.shift()!, COMPLETED, family.now)
    await family.pass(0.05, { isKept: true })
    expect(family.starts).toHaveLength(3)
    await family.driver.finish(family.running.shift()!, COMPLETED, family.now)
    await family.pass(0.05, { isKept: true })
    expect(family.starts).toHaveLength(4)
  })

  test('its quotas count all, in named units too, and a settlement corrects them', async () => {
    const family = await FamilyStage.open(open, {
      'a/*': '100, 50/s',
      'a/': '100, 50/s, 100 tokens/minute 30 each',
    })
    for (const key of ['a/1', 'a/2', 'a/1', 'a/2', 'a/1', 'a/2']) await family.admit(key)
    await family.pass(1, { isKept: true })
    expect(family.starts).toHaveLength(3)
    expect(await family.driver.settle(family.running[0]!, { tokens: 1 }, family.now)).toBe(true)
    expect(await family.driver.settle(family.running[1]!, { tokens: 1 }, family.now)).toBe(true)
    await family.pass(1, { isKept: true })
    expect(family.starts).toHaveLength(5)
    expect(await family.admit('a/1', { costs: { tokens: 101 } })).toMatchObject({
      reason: 'too-costly',
      at: 'a/',
      quota: '100 tokens/minute',
    })
  })

  test('an inner one whose freeze runs out shares as before, and counts once', async () => {
    const family = await FamilyStage.open(open, {
      'a/*': '100, 50/s',
      'a/': '100, 10/s',
      'a/x/': '100, 10/s',
    })
    for (let n = 0; n < 6; n++) {
      await family.admit('a/x/1')
      await family.admit('a/y')
    }
    await family.driver.freeze('a/x/', at(0.5), family.now)
    await family.pass(0.45)
    expect(family.starts.map(({ key }) => key)).toEqual(Array(family.starts.length).fill('a/y'))
    for (let n = 0; n < 6; n++) await family.admit('a/y')
    await family.pass(3)
    expect(family.starts).toHaveLength(18)
    const shared = family.starts.filter(({ seconds }) => seconds > 0.55 && seconds < 1.6)
    expect(shared.filter(({ key }) => key === 'a/x/1').length).toBeGreaterThanOrEqual(4)
    await family.pass(30)
  })

  test('a changed limit keeps the shares: the child that used more waits for the others', async () => {
    const family = await FamilyStage.open(open, { 'a/*': '100, 50/s', 'a/': '100, 10/s' })
    for (let n = 0; n < 2; n++) await family.admit('a/1', { cost: 5 })
    for (let n = 0; n < 6; n++) await family.admit('a/2')
    await family.pass(0.1)
    expect(family.starts.map(({ key }) => key)).toEqual(['a/1'])
    for (const limit of ['100, 20/s', '100, 10/s', '100, 20/s']) {
      await family.driver.setRule('a/', limit, family.now)
      await family.pass(0.02)
    }
    await family.pass(3)
    expect(family.starts.slice(1, 6).map(({ key }) => key)).toEqual(Array(5).fill('a/2'))
    expect(family.starts).toHaveLength(8)
  })

  test('a settlement counts in the quota of the key and in that of the total', async () => {
    const family = await FamilyStage.open(open, {
      'a/*': '100, 50/s, 60 tokens/minute 30 each',
      'a/': '100, 50/s, 130 tokens/minute 30 each',
    })
    for (const key of ['a/1', 'a/1', 'a/1', 'a/2', 'a/2', 'a/2']) await family.admit(key)
    await family.pass(1, { isKept: true })
    expect(family.starts.map(({ key }) => key).sort()).toEqual(['a/1', 'a/1', 'a/2', 'a/2'])
    const ofFirst = family.starts.find(({ key }) => key === 'a/1')!.id
    expect(await family.driver.settle(ofFirst, { tokens: 1 }, family.now)).toBe(true)
    await family.pass(1, { isKept: true })
    // 31 of the 60 of its key: 30 more would be one too many.
    expect(family.starts).toHaveLength(4)
    const ofOther = family.starts.find(({ key }) => key === 'a/2')!.id
    expect(await family.driver.settle(ofOther, { tokens: 0 }, family.now)).toBe(true)
    await family.pass(1, { isKept: true })
    expect(family.starts.slice(4).map(({ key }) => key)).toEqual(['a/2'])
  })

  test.each([
    ['frozen', 'a/'],
    ['frozen', 'a/x/'],
    ['paused', 'a/'],
    ['paused', 'a/x/'],
  ])('nothing below it departs while it is %s: %s', async (how, path) => {
    const family = await FamilyStage.open(open, { '*': '100, 20/s', 'a/': '200, 20/s', 'a/x/': '100, 20/s' })
    await family.fill('a/x/1', 60)
    await family.fill('a/y', 60)
    await family.pass(1)
    const { now, driver } = family
    if (how === 'frozen') expect(await driver.freeze(path, at(2.5), now)).toBe(at(2.5))
    else await driver.pause(path, now)
    await family.pass(1)
    const held = family.counts(1)
    expect(held['a/x/1'] ?? 0).toBe(0)
    expect(held['a/y'] ?? 0).toBe(path === 'a/' ? 0 : 20)
    if (how === 'frozen') expect(await driver.unfreeze(path, family.now)).toBe(true)
    else await driver.resume(path, family.now)
    await family.pass(1)
    expect(family.counts(2)['a/x/1']).toBeGreaterThanOrEqual(9)
  })

  test.each(['a/', 'a/x/', 'a/x/1'])('while %s is paused, no answer promises a time', async (name) => {
    const family = await FamilyStage.open(open, { '*': '9, 10/s', 'a/': '200, 10/s', 'a/x/': '3, 10/s' })
    const { driver, now } = family
    const isEstimate = true
    await driver.pause(name, now)
    expect(await driver.forecast('a/x/1', 1, now)).toMatchObject({ accepted: true, waitMs: 0, isEstimate })
    expect(await family.admit('a/x/1')).toMatchObject({ accepted: true, waitMs: 0, isEstimate })
    const urgent = await family.admit('a/x/1', { deadline: at(60) })
    expect(urgent).toMatchObject({ reason: 'paused', retryAfterMs: 100, isEstimate })
    await family.fill('a/x/1', 2)
    const full = await family.admit('a/x/1')
    expect(full).toMatchObject({ accepted: false, at: 'a/x/', retryAfterMs: 100, isEstimate })
    await driver.resume(name, now)
    expect(await family.admit('a/x/1')).not.toHaveProperty('isEstimate')
  })

  test('a freeze that is over, and one of a key, hold nobody longer', async () => {
    const family = await FamilyStage.open(open, { '*': '100, 20/s', 'a/': '200, 20/s' })
    await family.driver.freeze('a/', at(1), family.now)
    await family.fill('a/1', 30)
    await family.fill('a/2', 30)
    await family.driver.freeze('a/1', at(2), family.now)
    await family.pass(3)
    const { 'a/1': one = 0, 'a/2': two = 0 } = family.counts()
    expect(family.starts[0]!.seconds).toBeCloseTo(1, 2)
    expect(one + two).toBeGreaterThanOrEqual(39)
    expect(two).toBeGreaterThanOrEqual(29)
  })

  test('it may be made faster, slower, removed and added while jobs wait', async () => {
    const family = await FamilyStage.open(open, { '*': '100, 10/s', 'a/': '200, 2/s' })
    const answers = [...(await family.fill('a/1', 90)), ...(await family.fill('a/2', 90))]
    await family.pass(2)
    expect(family.starts.length).toBe(4)
    await family.driver.setRule('a/', '200, 4/s', family.now)
    await family.pass(2)
    expect(family.starts.length).toBeGreaterThanOrEqual(11)
    expect(family.starts.length).toBeLessThanOrEqual(12)
    await family.driver.unsetRule('a/', family.now)
    const before = family.starts.length
    await family.pass(2)
    expect(family.starts.length - before).toBeGreaterThanOrEqual(39)
    await family.driver.setRule('a/', '200, 4/s', family.now)
    await family.pass(0.3)
    const then = family.starts.length
    await family.pass(2)
    expect(family.starts.length - then).toBe(8)
    expect((await family.driver.audit()).waiting).toBe(answers.filter(Boolean).length - family.starts.length)
  })

  test('one further in is removed while jobs wait below it, and those beside it go on', async () => {
    const family = await FamilyStage.open(open, {
      '*': '20, 20/s',
      'a/': '30, 1/s, 100/day',
      'a/x/': '30, 10/s',
      'a/x/1/': '30, 10/s',
    })
    await family.fill('a/z', 3)
    await family.pass(STEP)
    await family.fill('a/x/1/3', 1)
    await family.pass(0.1)
    await family.driver.unsetRule('a/x/1/', family.now)
    await family.admit('a/z')
    await family.pass(6)
    expect(family.counts()).toEqual({ 'a/z': 4, 'a/x/1/3': 1 })
  })

  test('cancelled and expired jobs give their room back', async () => {
    const family = await FamilyStage.open(open, { '*': '100, 10/s', 'a/': '10, 1/s' })
    for (const id of 'abcdefgh') await family.admit('a/1', { deadline: at(100) }, id)
    expect(await family.admit('a/1')).toMatchObject({ reason: 'full' })
    expect(await family.driver.cancel('h', family.now)).toBe(true)
    expect(await family.admit('a/1')).toMatchObject({ accepted: true })
    await family.driver.pause('a/', family.now)
    await family.driver.expire(at(200))
    expect((await family.driver.audit()).waiting).toBe(1)
  })

  test('nothing of it is left when all is over', async () => {
    const family = await FamilyStage.open(open, { '*': '100, 10/s', 'a/': '50, 10/s', 'a/x/': '30, 5/s' })
    await family.fill('a/x/1', 3)
    await family.fill('a/y', 3)
    await family.pass(3)
    await family.driver.forget(at(8_000))
    await family.driver.forget(at(8_010))
    const left = (await family.driver.stored()).filter((name) =>
      /:(totals|buckets|later|ready|callers)/.test(name),
    )
    expect(left).toEqual([])
  })
})

test('on Redis, a job that cannot be read holds up its own line alone', async () => {
  const backend = await openRedisBackend({
    limits: { 'a/*': '9, 50/s', 'a/': '900, 100/s' },
    openedAt: at(0),
  })
  for (const key of ['a/1', 'a/2', 'a/3']) {
    await backend.verbs.admit(request(key, { key }), at(0))
    await backend.verbs.admit(request(`${key} next`, { key }), at(0))
  }
  const tag = backend.store.tags[0]!
  await lookAt().hset(`${tag}:states`, 'a/1', 'not ours')
  const keys = []
  for (let seconds = 0.1; seconds < 1; seconds += 0.1) {
    const { jobs } = await claim(backend.verbs, at(seconds), 100_000, 200)
    for (const job of jobs) {
      await startHanded(backend.verbs, job, at(seconds) + 60_000)
      keys.push(job.key)
    }
  }
  expect(keys.sort()).toEqual(['a/2', 'a/2', 'a/3', 'a/3'])
  await lookAt().hdel(`${tag}:states`, 'a/1')
  const { jobs } = await claim(backend.verbs, at(62), 100_000, 200)
  expect(jobs.map(({ id }) => id)).toContain('a/1')
  backend.wakes.stop()
})

test('on Redis, a bucket that cannot be read holds up nobody else, and goes on when it can be', async () => {
  const backend = await openRedisBackend({
    limits: { 'a/*': '9, 50/s', 'a/': '900, 100/s' },
    openedAt: at(0),
  })
  for (const key of ['a/1', 'a/2']) await backend.verbs.admit(request(key, { key }), at(0))
  const buckets = `${backend.store.tags[0]!}:buckets`
  const record = (await lookAt().hgetBuffer(buckets, 'a/1'))!
  await lookAt().hset(buckets, 'a/1', 'not ours')
  const keysAt = async (seconds: number) => {
    const { jobs } = await claim(backend.verbs, at(seconds), 100_000, 200)
    for (const job of jobs) await startHanded(backend.verbs, job, at(seconds) + 60_000)
    return jobs.map(({ key }) => key)
  }
  expect([...(await keysAt(0.1)), ...(await keysAt(0.3))]).toEqual(['a/2'])
  await lookAt().hset(buckets, 'a/1', record)
  expect([...(await keysAt(61)), ...(await keysAt(61.2))]).toEqual(['a/1'])
  backend.wakes.stop()
})

test('on Redis, no more is handed over than departs within the look-ahead', async () => {
  const backend = await openRedisBackend({ limits: { 'a/*': '9, 50/s', 'a/': '900, 20/s' }, openedAt: at(0) })
  for (const key of ['a/1', 'a/2', 'a/3', 'a/4', 'a/5', 'a/6', 'a/7', 'a/8']) {
    await backend.verbs.admit(request(key, { key }), at(0))
  }
  const { jobs } = await claim(backend.verbs, at(0.1), 100_000, 200)
  // One now, one after 50 ms, and one after 100 ms.
  expect(jobs).toHaveLength(3)
  expect((await claim(backend.verbs, at(0.11), 100_000, 200)).jobs).toEqual([])
  backend.wakes.stop()
})

test('on Redis, many that are due together join in slices, and then each has its turn', async () => {
  const backend = await openRedisBackend({
    limits: { 'a/*': '9, 50/s', 'a/': '9000, 1000/s' },
    openedAt: at(0),
  })
  const keys = Array.from({ length: 450 }, (_, n) => `a/${n}`)
  for (let from = 0; from < keys.length; from += 50) {
    const some = keys.slice(from, from + 50).map((key) => request(key, { key }))
    await backend.verbs.admitMany(some, at(0))
  }
  const handed = new Set<string>()
  let calls = 0
  for (let seconds = 1; handed.size < keys.length; seconds += 0.05) {
    const { jobs } = await claim(backend.verbs, at(seconds), 50_000, 200)
    expect(++calls).toBeLessThan(100)
    for (const job of jobs) {
      await startHanded(backend.verbs, job, at(seconds) + 60_000).catch(() => undefined)
      handed.add(job.key)
    }
  }
  expect(calls).toBeGreaterThan(4)
  backend.wakes.stop()
})
