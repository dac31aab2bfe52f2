import { describe, expect, onTestFinished, test } from 'vitest'
import { FreezeError, InvalidOptionsError } from '../../../src/index.ts'
import { Meter } from '../../../src/meter.ts'
import { collectMetrics, type MetricsOptions } from '../../../src/telemetry/metrics.ts'
import { Stage } from '../../support/stage.ts'
import { METRICS, metricOf, OF_REDIS } from './known-metrics.ts'
import { MetricsText } from './read-text.ts'

const FRESH = { cacheMs: 0 } as const

function watched(stage: Stage, options: MetricsOptions = FRESH) {
  const metrics = collectMetrics(stage.shaper, options)
  onTestFinished(() => metrics.close())
  return { ...metrics, read: async () => new MetricsText((await metrics.text()).text) }
}

/** Beside the shaper, as in a service. */
function meterOf({ shaper, clock }: Stage): Meter {
  return new Meter(shaper.name, { limits: shaper.limits, clock })
}

test('every metric is reported with its type and labels, and no other', async () => {
  const stage = new Stage({
    ...{ '*': '5, 2/s', k: '5, 2/s, 100/hour, 3 at once', 'f/': '3, 1/s, 9/day, 2 at once' },
  })
  const metrics = watched(stage, { ...FRESH, version: '1.2.3' })
  stage.shaper.work(() => stage.sleep(10))
  await stage.fill('k', 6)
  await stage.fill('f/x', 4)
  await meterOf(stage).fill('m')
  await stage.pass(5_000)
  metrics.forwardResponse('2xx')
  metrics.configReload('success')
  const text = await metrics.read()
  const expected = Object.entries(METRICS).map(([name, [type]]) => [name, type])
  expect([...text.types]).toEqual(expect.arrayContaining(expected))
  expect(text.types.size).toBe(expected.length)
  const met = new Set<string>()
  for (const { name, labels } of text.samples) {
    const metric = metricOf(name)
    const [, ...known] = METRICS[metric]!
    expect([name, Object.keys(labels).filter((label) => label !== 'le')]).toEqual([name, known])
    met.add(metric)
  }
  expect(new Set(Object.keys(METRICS).filter((name) => !OF_REDIS.includes(name)))).toEqual(met)
  expect(text.value('build_info', { version: '1.2.3', node: process.version, backend: 'memory' })).toBe(1)
})

test('gaps of every rule start at zero, so that the first one is an increase', async () => {
  const stage = new Stage({ '*': '5, 2/s', slow: '1, 1/s' })
  const { read } = watched(stage, FRESH)
  const zeros = async () => {
    const samples = (await read()).all('gap_ratio_bucket').filter(({ labels }) => labels['le'] === '0.74')
    return samples.map(({ labels, value }) => [labels['pattern'], value])
  }
  expect(await zeros()).toEqual([
    ['*', 0],
    ['slow', 0],
  ])
  await stage.shaper.limits.set('new', '5, 1/s')
  expect(await zeros()).toEqual([
    ['*', 0],
    ['slow', 0],
    ['new', 0],
  ])
  const { read: readFew } = watched(stage, { ...FRESH, maxPatterns: 2 })
  // With more rules than labels, which ones will be used is unknown.
  expect((await readFew()).all('gap_ratio_bucket')).toEqual([])
})

test('verdicts are counted by pattern and outcome', async () => {
  const stage = new Stage({ '*': '5, 2/s', slow: '1, 1/s' })
  const { read } = watched(stage)
  await stage.fill('k', 7)
  await stage.fill('slow/a', 2)
  await stage.shaper.enqueue('k', 0, { id: 'k1' })
  await stage.shaper.enqueue('b', 0, { cost: 6 })
  await stage.fill('late', 2)
  await stage.shaper.enqueue('late', 0, { deadlineMs: 100 })
  await stage.shaper.pause('p')
  await stage.shaper.enqueue('p', 0, { deadlineMs: 100 })
  const text = await read()
  const counted = text
    .all('admissions_total')
    .map(({ labels, value }) => [Object.values(labels).join(' '), value])
  expect(Object.fromEntries(counted)).toEqual({
    '* accepted': 7,
    '* full': 2,
    '* too-costly': 1,
    '* deadline': 1,
    '* paused': 1,
    'slow accepted': 1,
    'slow full': 1,
  })
})

test('fills of the meter of its name are counted by pattern and outcome', async () => {
  const stage = new Stage({ '*': '5, 2/s', slow: '1, 1/s' })
  const { read } = watched(stage)
  const meter = meterOf(stage)
  for (const amount of [3, 2, 1, 6]) await meter.fill('k', amount)
  await meter.fill('slow/a')
  await meter.fill('slow/a', 0.5)
  await meter.canAccept('k')
  const blocking = new Meter('stage', { limits: { gate: '1, 1/h' }, clock: stage.clock, blockWhenFull: '1m' })
  for (let n = 0; n < 4; n++) {
    await blocking.fill('gate')
    await stage.pass(1)
  }
  await new Meter('another', { limits: { '*': '5, 2/s' }, clock: stage.clock }).fill('k')
  const text = await read()
  const counted = text
    .all('meter_fills_total')
    .map(({ labels, value }) => [Object.values(labels).join(' '), value])
  expect(Object.fromEntries(counted)).toEqual({
    '* accepted': 2,
    '* full': 1,
    '* never-fits': 1,
    'slow accepted': 1,
    'slow full': 1,
    'gate accepted': 1,
    'gate full': 1,
    'gate blocked': 2,
  })
})

test('departures: how many, how late, how long they waited, and how far apart', async () => {
  const stage = new Stage({ '*': '9, 2/s', fast: '9, 10/s' })
  const { read } = watched(stage)
  stage.shaper.work(() => undefined)
  await stage.fill('k', 5)
  await stage.fill('fast', 2)
  await stage.pass(10_000)
  const text = await read()
  expect(text.value('departures_total', { pattern: '*' })).toBe(5)
  expect(text.value('departures_total', { pattern: 'fast' })).toBe(2)
  expect(text.value('departure_lag_seconds_count', { pattern: '*' })).toBe(5)
  expect(text.value('departure_lag_seconds_sum', { pattern: '*' })).toBe(0)
  expect(text.value('wait_seconds_count', { pattern: '*' })).toBe(5)
  expect(text.value('wait_seconds_sum', { pattern: '*' })).toBe(0 + 0.5 + 1 + 1.5 + 2)
  expect(text.value('wait_seconds_sum', { pattern: 'fast' })).toBe(0.1)
  expect(text.value('gap_ratio_count', { pattern: '*' })).toBe(4)
  expect(text.value('gap_ratio_sum', { pattern: '*' })).toBe(4)
  expect(text.value('gap_ratio_bucket', { pattern: '*', le: '0.995' })).toBe(0)
  expect(text.value('gap_ratio_bucket', { pattern: '*', le: '1' })).toBe(4)
  expect(text.value('late_starts_total')).toBe(0)
})

test('a gap is relative to the previous cost, and only counted if a job was waiting', async () => {
  const stage = new Stage('9, 2/s')
  const { read } = watched(stage)
  stage.shaper.work(() => undefined)
  await stage.shaper.enqueue('k', 0, { cost: 3 })
  await stage.shaper.enqueue('k', 0)
  await stage.pass(1_500)
  expect((await read()).value('gap_ratio_sum', { pattern: '*' })).toBe(1)
  await stage.pass(499)
  await stage.shaper.enqueue('k', 0)
  await stage.pass(60_000)
  expect((await read()).value('gap_ratio_count', { pattern: '*' })).toBe(2)
  await stage.shaper.enqueue('k', 0)
  await stage.pass(60_000)
  const text = await read()
  expect(text.value('departures_total', { pattern: '*' })).toBe(4)
  expect(text.value('gap_ratio_count', { pattern: '*' })).toBe(2)
})

test('a gap without a waiting job, or before a retry, says nothing about the pacing', async () => {
  const stage = new Stage('9, 2/s', {
    jobDefaults: { attempts: 2, backoff: { type: 'fixed', delayMs: 1_000, jitter: 0 } },
  })
  const { read } = watched(stage)
  stage.shaper.work(async ({ id, attempt }) => {
    await stage.sleep(3_000)
    if (id === 'k2' && attempt === 1) throw new Error('again')
  })
  await stage.shaper.enqueue('k', 0, { id: 'k1' })
  await stage.pass(2_000)
  await stage.shaper.enqueue('k', 0, { id: 'k2' })
  await stage.pass(20_000)
  const text = await read()
  expect(text.value('departures_total', { pattern: '*' })).toBe(3)
  expect(text.value('wait_seconds_count', { pattern: '*' })).toBe(2)
  expect(text.value('gap_ratio_count', { pattern: '*' })).toBe(0)
})

test('a start without a free handler is late: the slot is counted, and lag and gap say by how much', async () => {
  const stage = new Stage('9, 2/s')
  const { read } = watched(stage)
  stage.shaper.work(() => stage.sleep(1_200), { concurrency: 1 })
  await stage.fill('k', 3)
  await stage.pass(1_300)
  const text = await read()
  expect(text.value('late_starts_total')).toBe(1)
  expect(text.value('departure_lag_seconds_sum', { pattern: '*' })).toBeCloseTo(0.7, 9)
  expect(text.value('gap_ratio_sum', { pattern: '*' })).toBeCloseTo(2.4, 9)
})

test('handlers: how many run, and how they ended', async () => {
  const stage = new Stage('9, 10/s', { jobDefaults: { attempts: 1, timeoutMs: 5_000 } })
  const { read } = watched(stage)
  stage.shaper.work(async ({ id }) => {
    await stage.sleep(id === 'k3' ? 60_000 : 1_000)
    if (id === 'k2') throw new Error('no')
    if (id === 'k4') throw new FreezeError({ forMs: 100_000 })
  })
  await stage.fill('k', 5)
  await stage.pass(450)
  expect((await read()).value('handlers_inflight')).toBe(5)
  await stage.pass(20_000)
  const text = await read()
  expect(text.value('handlers_inflight')).toBe(0)
  const ended = (outcome: string) => [
    text.value('handler_duration_seconds_count', { outcome }),
    text.value('handler_duration_seconds_sum', { outcome }),
  ]
  expect(ended('completed')).toEqual([2, 2])
  expect(ended('failed')).toEqual([1, 1])
  expect(ended('timeout')).toEqual([1, 5])
  expect(ended('frozen')).toEqual([1, 1])
  await stage.close()
})

test('handlers aborted by a close have ended as well', async () => {
  const stage = new Stage('9, 10/s')
  const { read } = watched(stage)
  stage.shaper.work(() => stage.sleep(60_000))
  await stage.fill('k', 1)
  await stage.pass(10)
  await stage.close({ drainMs: 500 })
  const text = await read()
  expect(text.value('handler_duration_seconds_count', { outcome: 'aborted' })).toBe(1)
  expect(text.value('handlers_inflight')).toBe(0)
})

test('the lines: units, capacities, the fullest, the longest wait, and buckets by state', async () => {
  const stage = new Stage({ '*': '5, 2/s', slow: '4, 1/s' })
  const { read } = watched(stage)
  await stage.fill('a', 5)
  await stage.fill('b', 1)
  await stage.shaper.pause('c')
  await stage.fill('slow/x', 1)
  await stage.shaper.freeze('slow/x', 60_000)
  await stage.pass(3_000)
  const text = await read()
  const gauges = (pattern: string) =>
    ['waiting', 'capacity', 'fill_ratio_max', 'oldest_wait_seconds'].map((name) =>
      text.value(name, { pattern }),
    )
  expect(gauges('*')).toEqual([6, 15, 1, 3])
  expect(gauges('slow')).toEqual([1, 4, 0.25, 3])
  const states = text.all('buckets').map(({ labels, value }) => [labels['state'], value])
  expect(Object.fromEntries(states)).toEqual({ idle: 0, waiting: 1, full: 1, frozen: 1, paused: 1 })
})

test('a pattern without live buckets is reported as zero', async () => {
  const stage = new Stage('5, 2/s')
  const { read } = watched(stage)
  stage.shaper.work(() => undefined)
  await stage.fill('k', 2)
  await stage.pass(60_000)
  const text = await read()
  expect(text.value('waiting', { pattern: '*' })).toBe(0)
  expect(text.value('capacity', { pattern: '*' })).toBe(0)
  expect(text.value('buckets', { state: 'idle' })).toBe(0)
})

test('in memory there is one scheduler, which leads and hands over', async () => {
  const stage = new Stage('5, 2/s')
  const { read } = watched(stage)
  stage.shaper.work(() => undefined)
  await stage.fill('k', 3)
  await stage.pass(2_000)
  const text = await read()
  expect(text.value('scheduler_leader')).toBe(1)
  expect(text.value('handoffs_total', { outcome: 'added' })).toBe(3)
  expect(text.value('handoffs_total', { outcome: 'error' })).toBe(0)
  expect(text.value('scheduler_pass_seconds_count')).toBeGreaterThanOrEqual(3)
})

test('counted elsewhere: responses to forwarded requests, and reloads', async () => {
  const stage = new Stage('5, 2/s')
  const metrics = watched(stage)
  for (const of of ['2xx', '2xx', '4xx', 'error', 'none', '7xx']) metrics.forwardResponse(of)
  expect((await metrics.read()).value('config_reloads_total', { outcome: 'failure' })).toBe(0)
  metrics.configReload('failure')
  const text = await metrics.read()
  const classes = text
    .all('forward_responses_total')
    .map(({ labels, value }) => [labels['status_class'], value])
  expect(Object.fromEntries(classes)).toEqual({ '2xx': 2, '4xx': 1, error: 3 })
  expect(text.value('config_reloads_total', { outcome: 'failure' })).toBe(1)
  expect(text.value('config_reloads_total', { outcome: 'success' })).toBe(0)
})

describe('labels', () => {
  test('never contain a key or a payload', async () => {
    const stage = new Stage({ '*': '5, 2/s', 'tenant/*': '5, 2/s' })
    const { read } = watched(stage)
    stage.shaper.work(() => undefined)
    await stage.shaper.enqueue('tenant/secret-key', 'secret-data', { id: 'secret-id' })
    await stage.pass(10)
    const text = await read()
    expect(text.value('departures_total', { pattern: 'tenant/*' })).toBe(1)
    expect(JSON.stringify(text.samples)).not.toContain('secret')
  })

  test('of patterns are bounded: the others count together', async () => {
    const patterns = Array.from({ length: 50 }, (_, index) => `p${index}`)
    const stage = new Stage(Object.fromEntries(patterns.map((pattern) => [pattern, '5, 2/s'])))
    const { read } = watched(stage, { ...FRESH, maxPatterns: 3 })
    stage.shaper.work(() => undefined)
    for (const pattern of patterns) await stage.fill(pattern, 2)
    await stage.pass(100)
    const text = await read()
    expect(text.labelValues('pattern')).toEqual(new Set(['p0', 'p1', 'p2', 'other']))
    expect(text.value('admissions_total', { pattern: 'other', outcome: 'accepted' })).toBe(94)
    expect(text.value('departures_total', { pattern: 'other' })).toBe(47)
    expect(text.value('waiting', { pattern: 'other' })).toBe(47)
    expect(text.value('capacity', { pattern: 'other' })).toBe(47 * 5)
  })

  test.each(['say "hi"', 'back\\slash', 'a} 1', 'naïve ☃ 🎩', 'x="y",z="', '{}'])(
    'escape the pattern %s',
    async (pattern) => {
      const stage = new Stage({ [pattern]: '5, 2/s' })
      const { read } = watched(stage)
      stage.shaper.work(() => undefined)
      for (const data of [1, 2]) await stage.shaper.enqueue(pattern, data)
      await stage.pass(100)
      const text = await read()
      expect(text.labelValues('pattern')).toEqual(new Set([pattern]))
      expect(text.value('waiting', { pattern })).toBe(1)
    },
  )

  test('name a rule that has gone while its jobs wait', async () => {
    const stage = new Stage({ a: '1, 2/s' })
    const { read } = watched(stage)
    await stage.fill('a', 1)
    await stage.shaper.limits.unset('a')
    const text = await read()
    expect(text.value('waiting', { pattern: 'a' })).toBe(1)
  })
})

test('a cached text is reused', async () => {
  const stage = new Stage('5, 2/s')
  const metrics = watched(stage, { cacheMs: 60_000 })
  const first = await metrics.text()
  await stage.fill('k', 1)
  expect(await metrics.text()).toEqual(first)
  expect(first.contentType).toBe('text/plain; version=0.0.4; charset=utf-8')
})

test('concurrent requests share one text', async () => {
  const stage = new Stage('5, 2/s')
  const metrics = watched(stage)
  let walks = 0
  const { survey } = stage.shaper
  stage.shaper.survey = () => {
    walks++
    return survey.call(stage.shaper)
  }
  await Promise.all([metrics.text(), metrics.text(), metrics.text()])
  expect(walks).toBe(1)
})

test('buckets are not counted if that is disabled', async () => {
  const stage = new Stage('5, 2/s')
  const { read } = watched(stage, { ...FRESH, buckets: false })
  await stage.fill('k', 2)
  const text = await read()
  expect(text.value('admissions_total', { pattern: '*', outcome: 'accepted' })).toBe(2)
  expect([text.all('waiting'), text.all('buckets')]).toEqual([[], []])
})

test('process metrics are optional', async () => {
  const stage = new Stage('5, 2/s')
  const metrics = watched(stage, { ...FRESH, process: true })
  expect((await metrics.text()).text).toContain('process_cpu_seconds_total')
})

test.each([
  [{ maxPatterns: 0 }, 'maxPatterns'],
  [{ cacheMs: -1 }, 'cacheMs'],
  [{ version: 7 }, 'version'],
  [{ versoin: '1' }, 'did you mean version?'],
])('options %o are rejected', (options, message) => {
  const stage = new Stage('5, 2/s')
  const collect = () => collectMetrics(stage.shaper, options as MetricsOptions)
  expect(collect).toThrow(InvalidOptionsError)
  expect(collect).toThrow(message)
})
