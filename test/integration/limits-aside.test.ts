import { describe, expect, onTestFinished, test } from 'vitest'
import { Shaper, type ShaperOptions } from '../../src/index.ts'
import { pass } from '../support/patience.ts'
import { redisAddress, startRedis, uniquePrefix } from '../support/redis-server.ts'

type Place = Partial<ShaperOptions>

/** Lines that hardly move, in this process and in Redis. */
const BACKENDS: readonly (readonly [name: string, place: () => Place])[] = [
  ['memory', () => ({})],
  ['redis', () => ({ connection: redisAddress(), prefix: uniquePrefix(), shards: 2 })],
]

function open(limits: ShaperOptions['limits'], place: Place): Shaper {
  const shaper = new Shaper('sms', { limits, ...place })
  shaper.on('error', () => undefined)
  onTestFinished(() => shaper.close())
  return shaper
}

/** As many jobs for each key. */
function fill(shaper: Shaper, units: Readonly<Record<string, number>>) {
  return shaper.enqueueMany(
    Object.entries(units).flatMap(([key, count]) =>
      Array.from({ length: count }, (_, data) => ({ key, data })),
    ),
  )
}

describe.each(BACKENDS)('%s: a preview', (_, place) => {
  test.each([
    ['a lower limit', { set: ['shop/*', '5, 1/m'] }],
    ['a new pattern', { set: ['shop/2', '50, 3/h'] }],
    ['no limit', { unset: 'shop/*' }],
    ['that of code', { reset: 'vip/*' }],
  ] as const)('names the limits that the change sets: %s', async (_, change) => {
    const shaper = open({ '*': '99, 1/h', 'shop/*': '20, 2/h', 'vip/*': '30, 1/h' }, place())
    await shaper.limits.set('vip/*', '40, 4/h')
    await fill(shaper, { 'shop/1': 7, 'shop/2': 3, 'vip/1': 9, other: 2 })
    const before = (await shaper.buckets({ sort: 'key' })).buckets
    const preview = await shaper.limits.preview(change)
    expect((await shaper.buckets({ sort: 'key' })).buckets.map(({ limit }) => limit)).toEqual(
      before.map(({ limit }) => limit),
    )
    expect(preview).toMatchObject({ buckets: 4, ungoverned: 0 })
    if ('set' in change) await shaper.limits.set(change.set[0], change.set[1])
    else if ('unset' in change) await shaper.limits.unset(change.unset)
    else await shaper.limits.reset(change.reset)
    const named = new Map(preview.samples.map(({ key, ...sample }) => [key, sample]))
    expect(named.size).toBe(preview.affected)
    expect(preview.affected).toBeGreaterThan(0)
    for (const old of before) {
      const now = (await shaper.inspect(old.key))!
      const { pattern, limit, fill } = named.get(old.key)?.after ?? old
      expect([now.pattern, now.limit, now.fill]).toEqual([pattern, limit, fill])
      if (named.has(old.key))
        expect(named.get(old.key)!.before).toMatchObject({ limit: old.limit, fill: old.fill })
      else expect(now.limit).toBe(old.limit)
    }
    expect(preview.waiting).toBe([...named.values()].reduce((sum, { waiting }) => sum + waiting, 0))
  })

  test('of the last rule leaves waiting jobs their limit', async () => {
    const shaper = open({ a: '9, 2/h' }, place())
    await fill(shaper, { a: 3 })
    const preview = await shaper.limits.preview({ unset: 'a' })
    expect(preview).toMatchObject({ affected: 1, ungoverned: 1, waiting: 3, samples: [{ after: null }] })
    expect(preview.drainMs).toEqual({ before: 3 * 1_800_000, after: 3 * 1_800_000 })
    await shaper.limits.unset('a')
    expect(await shaper.inspect('a')).toMatchObject({ limit: '9, 2/h' })
  })

  test('walks over many buckets, and delays no job', async () => {
    const shaper = open({ '*': '9, 1/h' }, place())
    for (let from = 0; from < 3_000; from += 1_000) {
      await fill(shaper, Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`k${from + n}`, 1])))
    }
    let turns = 0
    const timer = setInterval(() => turns++, 1)
    onTestFinished(() => clearInterval(timer))
    const { buckets, affected, waiting } = await shaper.limits.preview({ set: ['*', '9, 2/h'] })
    expect([buckets, affected, waiting]).toEqual([3_000, 3_000, 3_000])
    expect(turns).toBeGreaterThan(3)
  })
})

test('redis: a preview uses the newest rule book, whichever process changed it', async () => {
  const place = { connection: redisAddress(), prefix: uniquePrefix() }
  const [one, two] = [open({ '*': '9, 1/h' }, place), open({ '*': '9, 1/h' }, place)]
  await Promise.all([one.ready(), two.ready()])
  await fill(one, { a: 2 })
  const { version } = await two.limits.preview({ set: ['a', '5, 1/h'] })
  await one.limits.set('a', '5, 1/h')
  expect(await two.limits.preview({ set: ['a', '5, 1/h'] })).toMatchObject({
    affected: 0,
    version: version + 1,
  })
})

describe.each(BACKENDS)('%s: a limit of this process', (_, place) => {
  test('holds what it admits, by enqueue, in batches and for turns, and no other process', async () => {
    const shared = place()
    const shaper = open({ '*': '99, 1/h' }, shared)
    const other = shared.connection === undefined ? undefined : open({ '*': '99, 1/h' }, shared)
    await shaper.ready()
    shaper.limits.setLocal('k/*', '4, 1/h', { by: 'ann' })
    expect(await shaper.forecast('k/1', 4)).toMatchObject({ accepted: true })
    expect(await shaper.enqueue('k/1', 0, { id: 'a' })).toMatchObject({ accepted: true, capacity: 99 })
    const batch = ['a', 'b', 'c'].map((id) => ({ key: 'k/1', data: 0, id }))
    expect(await shaper.enqueueMany(batch)).toMatchObject([{ replayed: true }, { id: 'b' }, { id: 'c' }])
    const caller = new AbortController()
    const turn = shaper.acquire('k/1', { signal: caller.signal })
    const outcome = expect(turn).rejects.toMatchObject({ name: 'AbortError' })
    await expect.poll(async () => (await shaper.inspect('k/1'))?.jobs).toBe(4)
    const refused = { accepted: false, reason: 'full', local: true, waiting: 4, capacity: 4 }
    const verdict = await shaper.enqueue('k/1', 0)
    expect(verdict).toMatchObject(refused)
    expect(verdict).toHaveProperty('retryAfterMs', expect.closeTo(3_600_000, -5))
    expect(await shaper.forecast('k/1')).toMatchObject(refused)
    expect(await shaper.tryAcquire('k/1')).toMatchObject(refused)
    await expect(shaper.acquire('k/1')).rejects.toMatchObject({ code: 'turn-refused', local: true })
    expect(await shaper.enqueueMany([...batch, { key: 'k/2', data: 0, id: 'd' }])).toMatchObject([
      { replayed: true },
      { replayed: true },
      { replayed: true },
      { accepted: true },
    ])
    expect(await shaper.enqueue('k/3', 0, { cost: 5 })).toMatchObject({ reason: 'too-costly', local: true })
    if (other !== undefined) {
      expect(await other.enqueue('k/1', 0)).toMatchObject({ accepted: true })
      expect(other.limits.locals()).toEqual([])
    }
    shaper.limits.unsetLocal('k/*')
    expect(await shaper.enqueue('k/1', 0)).toMatchObject({ accepted: true })
    expect(shaper.limits.list()).toHaveLength(1)
    caller.abort()
    await outcome
  })

  test('takes nothing for what the line refuses, however many ask concurrently', async () => {
    const shaper = open({ '*': '3, 1/h' }, place())
    const rejections: unknown[] = []
    shaper.on('rejected', ({ local }) => void rejections.push(local))
    shaper.limits.setLocal('*', '5, 1/h')
    const ask = () => Promise.all(Array.from({ length: 20 }, () => shaper.enqueue('k', 0)))
    const admitted = (answers: { accepted: boolean }[]) => answers.filter(({ accepted }) => accepted).length
    expect(admitted(await ask())).toBe(3)
    await shaper.limits.set('*', '9, 1/h')
    expect(admitted(await ask())).toBe(2)
    expect(admitted(await ask())).toBe(0)
    expect(rejections).toHaveLength(55)
    expect(rejections.slice(-20)).toEqual(Array.from({ length: 20 }, () => true))
  })

  test('accepts no job before the time that its rejection named, and accepts it then', async () => {
    const shaper = open({ '*': '99, 1/h' }, place())
    // No machine takes so long for two calls.
    shaper.limits.setLocal('*', '1, 1 per 4s')
    await shaper.enqueue('k', 0)
    const refusal = await shaper.enqueue('k', 0)
    if (refusal.accepted) expect.fail('expected a refusal')
    expect(refusal.retryAfterMs).toBeLessThanOrEqual(4_000)
    await pass(refusal.retryAfterMs)
    expect(await shaper.enqueue('k', 0)).toMatchObject({ accepted: true })
  })
})

test('redis: while it is away the error is as ever, and a job that may have been admitted counts', async () => {
  const server = await startRedis()
  const shaper = open({ '*': '99, 1/h' }, { connection: server.url })
  shaper.limits.setLocal('*', '1, 1/h')
  await shaper.ready()
  await server.kill()
  await expect(shaper.enqueue('k', 0)).rejects.toMatchObject({ code: 'backend-unavailable' })
  expect(await shaper.enqueue('k', 0)).toMatchObject({ accepted: false, local: true })
})

test('redis: of the heap of this process its local limits are counted, and not the jobs', async () => {
  const shaper = open({ '*': '99, 1/h' }, BACKENDS[1]![1]())
  await fill(shaper, { 'a/1': 3 })
  expect(shaper.heap.of('a')).toBe(0)
  shaper.limits.setLocal('a/1', '9, 1/h')
  const ofRule = shaper.heap.of('a')
  expect(ofRule).toBeGreaterThan(0)
  await fill(shaper, { 'a/1': 3 })
  expect(shaper.heap.of('a')).toBeGreaterThan(ofRule)
  expect(shaper.heap.sum()).toEqual({ bytes: shaper.heap.of('a'), segments: 1 })
  shaper.limits.unsetLocal('a/1')
  expect(shaper.heap.of('a')).toBe(0)
})
