import { expect, onTestFinished, test } from 'vitest'
import { departures, leaderships, redisErrors } from '../../src/core/diagnostics.ts'
import { Shaper, type ShaperOptions } from '../../src/index.ts'
import { Meter } from '../../src/meter.ts'
import { collectMetrics, type Metrics } from '../../src/telemetry/metrics.ts'
import { beforeTimer, eventually } from '../support/patience.ts'
import { redisAddress, startRedis, uniquePrefix } from '../support/redis-server.ts'
import { METRICS, metricOf } from '../unit/telemetry/known-metrics.ts'
import { MetricsText } from '../unit/telemetry/read-text.ts'

async function read(metrics: Metrics): Promise<MetricsText> {
  return new MetricsText((await metrics.text()).text)
}

/** With what only Redis knows: a text does without that where a busy machine has not counted it in time. */
function readWhole(metrics: Metrics): Promise<MetricsText> {
  return eventually(async () => {
    const text = await read(metrics)
    expect(text.all('waiting')).not.toEqual([])
    return text
  })
}

/** Each has a name of its own: diagnostics inside a process are addressed by name. */
async function open(options: Partial<ShaperOptions> = {}) {
  const prefix = uniquePrefix()
  const shaper = new Shaper(prefix, {
    limits: { '*': '50, 50/s' },
    connection: redisAddress(),
    prefix,
    ...options,
  })
  shaper.on('error', () => undefined)
  const metrics = collectMetrics(shaper, { cacheMs: 0 })
  onTestFinished(async () => {
    await shaper.close({ drainMs: 0 })
    metrics.close()
  })
  await shaper.ready()
  return { shaper, metrics }
}

function requests(count: number) {
  return Array.from({ length: count }, (_, n) => ({ key: 'tenant/k', data: n, id: `j${n}` }))
}

/** Resolves when `count` jobs have completed. */
function completions(shaper: Shaper, count: number): Promise<void> {
  return new Promise((resolve) => {
    let completed = 0
    shaper.on('completed', () => ++completed === count && resolve())
  })
}

/** Resolves with the first message that matches. */
function heard<Message extends { readonly shaper: string }>(
  channel: { subscribe(listener: (message: Message) => void): () => void },
  shaper: Shaper,
  is: (message: Message) => boolean,
): Promise<Message> {
  return new Promise((resolve) => {
    const stop = channel.subscribe((message) => {
      if (message.shaper === shaper.name && is(message)) resolve(message)
    })
    onTestFinished(stop)
  })
}

test('every metric has its labels and right values after a run on Redis', async () => {
  const { shaper, metrics } = await open({
    limits: {
      ...{ '*': '50, 50/s', parts: '9, 1/h, 5/day, 3 at once' },
      ...{ 'family/': '2, 1/h, 5/day, 3 at once', 'family/*': '9, 1/h' },
    },
  })
  const completed = completions(shaper, 20)
  const lags: number[] = []
  onTestFinished(
    departures.subscribe(({ shaper: name, slot, startedAt }) => {
      if (name === shaper.name) lags.push((startedAt - slot) / 1_000_000)
    }),
  )
  shaper.work(() => new Promise((resolve) => setTimeout(resolve, 5)))
  await shaper.enqueueMany(requests(20))
  await shaper.enqueue('tenant/k', 0, { cost: 51 })
  await shaper.pause('tenant/p')
  await new Meter(shaper.name, { limits: shaper.limits }).fill('tenant/k')
  await completed
  await shaper.enqueue('tenant/p', 0)
  await shaper.freeze('parts', 3_600_000)
  await shaper.enqueue('parts', 0)
  await shaper.pause('family/')
  for (const key of ['family/a', 'family/a', 'family/b']) await shaper.enqueue(key, 0)
  metrics.forwardResponse('2xx')
  metrics.configReload('success')
  const text = await readWhole(metrics)
  const all = { pattern: '*' }

  const met = new Set(text.samples.map(({ name }) => metricOf(name)))
  expect(Object.keys(METRICS).filter((name) => !met.has(name))).toEqual([])
  for (const { name, labels } of text.samples) {
    const [, ...known] = METRICS[metricOf(name)]!
    expect([name, Object.keys(labels).filter((label) => label !== 'le')]).toEqual([name, known])
  }
  expect(JSON.stringify(text.samples)).not.toContain('tenant')

  expect(text.value('admissions_total', { ...all, outcome: 'accepted' })).toBe(21)
  expect(text.value('admissions_total', { ...all, outcome: 'too-costly' })).toBe(1)
  for (const each of ['departures_total', 'departure_lag_seconds_count', 'wait_seconds_count']) {
    expect([each, text.value(each, all)]).toEqual([each, 20])
  }
  expect(text.value('handler_duration_seconds_count', { outcome: 'completed' })).toBe(20)
  // Timers of Node may come a millisecond early.
  expect(text.value('handler_duration_seconds_sum', { outcome: 'completed' })).toBeGreaterThanOrEqual(
    20 * 0.004,
  )
  expect(text.value('handlers_inflight')).toBe(0)

  // All waited, so that each but the first has a gap; the tolerance is a quarter of the interval, 5 of 20 ms.
  expect(text.value('gap_ratio_count', all)).toBe(19)
  expect(text.value('gap_ratio_bucket', { ...all, le: '0.74' })).toBe(0)
  expect(text.value('gap_ratio_sum', all)).toBeGreaterThanOrEqual(19 * 0.92)
  // The last waited for 19 intervals, and all of them for as many as stood before them.
  expect(text.value('wait_seconds_sum', all)).toBeGreaterThanOrEqual(190 * 0.02 * 0.92)
  // Each is at its slot or after it; that they are added up shows in the sum, whatever the machine made of them.
  expect(lags).toHaveLength(20)
  expect(Math.min(...lags)).toBeGreaterThanOrEqual(0)
  expect(text.value('departure_lag_seconds_sum', all)).toBeCloseTo(
    lags.reduce((sum, lag) => sum + lag, 0),
    9,
  )

  expect(text.value('handoffs_total', { outcome: 'added' })).toBe(20)
  expect(text.value('handoffs_total', { outcome: 'error' })).toBe(0)
  expect(text.value('scheduler_leader')).toBe(1)
  expect(text.value('scheduler_pass_seconds_count')).toBeGreaterThan(0)
  for (const script of ['admit', 'claim', 'gate', 'finish', 'survey']) {
    expect([script, text.value('redis_script_seconds_count', { script })! > 0]).toEqual([script, true])
  }
  expect(text.all('redis_errors_total').map(({ labels, value }) => [labels['kind'], value])).toEqual([
    ['timeout', 0],
    ['connection', 0],
    ['refused', 0],
    ['foreign', 0],
    ['other', 0],
  ])
  expect(text.value('waiting', all)).toBe(1)
  expect(text.value('buckets', { state: 'paused' })).toBe(1)
  expect(text.value('places', { pattern: 'parts' })).toBe(3)
  expect(text.value('places_taken', { pattern: 'parts' })).toBe(0)
  // A freeze is no part of the limit.
  expect(text.value('held_buckets', { pattern: 'parts', part: 'pace' })).toBe(0)
  expect(text.value('quota_used_ratio_max', { pattern: 'parts' })).toBe(0)
  const family = { pattern: 'family/' }
  expect(text.value('families', family)).toBe(1)
  expect(text.value('family_waiting', family)).toBe(2)
  expect(text.value('family_fill_ratio_max', family)).toBe(1)
  expect(text.value('family_refusals_total', { ...family, outcome: 'paused' })).toBe(1)
  expect(text.value('family_places', family)).toBe(3)
  expect(text.value('held_families', { ...family, part: 'pace' })).toBe(0)
  expect(text.all('build_info').map(({ labels }) => labels['backend'])).toEqual(['redis'])
})

test('a process without workers has metrics of the line, and leads until it is closed', async () => {
  const { shaper, metrics } = await open({ limits: { '*': '5, 1/h' } })
  await shaper.enqueueMany(requests(3))
  shaper.schedule()
  await heard(leaderships, shaper, ({ isLeader }) => isLeader)
  const text = await readWhole(metrics)
  expect(text.value('scheduler_leader')).toBe(1)
  expect(text.value('waiting', { pattern: '*' })).toBe(3)
  expect(text.value('oldest_wait_seconds', { pattern: '*' })).toBeGreaterThan(0)
  const over = heard(leaderships, shaper, ({ isLeader }) => !isLeader)
  await shaper.close()
  await over
  expect((await read(metrics)).value('scheduler_leader')).toBe(0)
})

test('while Redis is away the text comes within two seconds, without what only Redis knows', async () => {
  const server = await startRedis()
  onTestFinished(() => server.stop())
  const { shaper, metrics } = await open({ connection: server.url })
  shaper.schedule()
  await shaper.enqueueMany(requests(2))
  await heard(leaderships, shaper, ({ isLeader }) => isLeader)
  expect((await readWhole(metrics)).value('waiting', { pattern: '*' })).toBe(2)

  const lost = heard(redisErrors, shaper, ({ kind }) => kind === 'connection')
  const deposed = heard(leaderships, shaper, ({ isLeader }) => !isLeader)
  await server.kill()
  await lost
  await expect(shaper.enqueue('tenant/k', 0)).rejects.toMatchObject({ code: 'backend-unavailable' })
  await deposed
  for (let scrape = 0; scrape < 2; scrape++) {
    const text = await beforeTimer(2_000, read(metrics))
    for (const gauge of ['waiting', 'capacity', 'fill_ratio_max', 'oldest_wait_seconds', 'buckets']) {
      expect([gauge, text.all(gauge)]).toEqual([gauge, []])
    }
    expect(text.value('redis_errors_total', { kind: 'connection' })).toBeGreaterThan(0)
    expect(text.value('admissions_total', { pattern: '*', outcome: 'accepted' })).toBe(2)
    expect(text.value('scheduler_leader')).toBe(0)
  }
})

test('a Redis that is silent counts as a timeout, and does not hold up the text', async () => {
  const server = await startRedis()
  onTestFinished(() => server.stop())
  const { shaper, metrics } = await open({ connection: server.url })
  await shaper.enqueueMany(requests(2))
  await read(metrics)
  const silent = heard(redisErrors, shaper, ({ kind }) => kind === 'timeout')
  server.pause()
  const text = await beforeTimer(2_000, read(metrics))
  expect(text.all('waiting')).toEqual([])
  await silent
  server.resume()
  expect((await read(metrics)).value('redis_errors_total', { kind: 'timeout' })).toBeGreaterThan(0)
})

test('a Redis that refuses, and one that holds a foreign value, are distinguished', async () => {
  const server = await startRedis({ port: 'free' })
  onTestFinished(() => server.stop())
  const { Redis } = await import('ioredis')
  const direct = new Redis(server.url)
  onTestFinished(() => direct.disconnect())
  const { shaper, metrics } = await open({ connection: server.url })
  await shaper.enqueue('k', 0)
  for (const key of await direct.keys('*')) {
    await direct.del(key)
    await direct.set(key, 'not ours')
  }
  await expect(shaper.inspect('k')).rejects.toMatchObject({ code: 'foreign-value' })
  expect((await read(metrics)).value('redis_errors_total', { kind: 'foreign' })).toBeGreaterThan(0)
  await direct.flushall()
  await direct.config('SET', 'maxmemory', '1')
  await expect(shaper.enqueue('k', 1)).rejects.toMatchObject({ code: 'backend-unavailable' })
  expect((await read(metrics)).value('redis_errors_total', { kind: 'refused' })).toBeGreaterThan(0)
})
