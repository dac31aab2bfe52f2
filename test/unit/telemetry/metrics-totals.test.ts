import { expect, onTestFinished, test } from 'vitest'
import { collectMetrics, type MetricsOptions } from '../../../src/telemetry/metrics.ts'
import { Stage } from '../../support/stage.ts'
import { MetricsText } from './read-text.ts'

function watched(stage: Stage, options: MetricsOptions = {}) {
  const metrics = collectMetrics(stage.shaper, { cacheMs: 0, ...options })
  onTestFinished(() => metrics.close())
  return { read: async () => new MetricsText((await metrics.text()).text) }
}

const family = (text: MetricsText, name: string, pattern: string) => text.value(name, { pattern })

test('totals have series by their own patterns, and none of those of buckets', async () => {
  const stage = new Stage({ '*': '5, 2/s', 'k/': '9, 1/s' })
  const { read } = watched(stage)
  await stage.fill('k/x', 2)
  const text = await read()
  const named = (pattern: string) =>
    new Set(text.samples.filter(({ labels }) => labels['pattern'] === pattern).map(({ name }) => name))
  expect([...named('k/')].every((name) => /_famil(?:y|ies)(?:_|$)/.test(name))).toBe(true)
  expect([...named('*')].some((name) => /_famil(?:y|ies)(?:_|$)/.test(name))).toBe(false)
  expect(text.labelValues('pattern')).toEqual(new Set(['*', 'k/']))
  expect(text.value('waiting', { pattern: '*' })).toBe(2)
})

test('totals are counted by pattern: how many live, what waits below them, and the fullest', async () => {
  const stage = new Stage({ '*': '5, 2/s', '*/': '8, 1/s', 'z/': '9, 1/s' })
  const { read } = watched(stage)
  await stage.fill('a/x', 2)
  await stage.fill('a/y', 2)
  await stage.fill('b/x', 1)
  const text = await read()
  const names = ['families', 'family_waiting', 'family_capacity', 'family_fill_ratio_max']
  expect(names.map((name) => family(text, name, '*/'))).toEqual([2, 5, 16, 0.5])
  expect(names.map((name) => family(text, name, 'z/'))).toEqual([0, 0, 0, 0])
})

test('totals say what of them holds the next job back, and not what the limits below them do', async () => {
  const stage = new Stage({
    ...{ '*': '9, 1/s', 'a/': '9, 1/s', 'b/': '9, 100/s', 'c/': '9, 100/s, 2/hour, 5 at once' },
    ...{ 'd/': '9, 100/s, 1 at once', 'e/': '9, 1/s' },
  })
  const { read } = watched(stage)
  stage.shaper.work(({ key }) => (key.startsWith('c') ? undefined : stage.sleep(60_000)))
  for (const key of ['a/x', 'a/y', 'c/x', 'c/y', 'c/z', 'd/x', 'd/y', 'e/x', 'e/y']) await stage.fill(key, 1)
  await stage.fill('b/x', 3)
  await stage.pass(1)
  await stage.shaper.freeze('e/', 60_000)
  await stage.pass(499)
  const text = await read()
  const held = (pattern: string) =>
    Object.fromEntries(
      text
        .all('held_families')
        .filter(({ labels }) => labels['pattern'] === pattern)
        .map(({ labels, value }) => [labels['part'], value]),
    )
  const none = { pace: 0, quota: 0, places: 0 }
  expect(held('a/')).toEqual({ ...none, pace: 1 })
  // Its one key waits for its own slot.
  expect(held('b/')).toEqual(none)
  expect(held('c/')).toEqual({ ...none, quota: 1 })
  expect(held('d/')).toEqual({ ...none, places: 1 })
  expect(held('e/')).toEqual(none)
  expect(family(text, 'family_quota_used_ratio_max', 'c/')).toBe(1)
  expect([family(text, 'family_places', 'd/'), family(text, 'family_places_taken', 'd/')]).toEqual([1, 1])
  expect(family(text, 'family_places', 'a/')).toBeUndefined()
})

test('totals count what they refuse, beside the pattern of the key', async () => {
  const stage = new Stage({ '*': '9, 2/s', '*/': '5, 1/s' })
  const { read } = watched(stage)
  await stage.fill('a/x', 9)
  await stage.shaper.enqueue('a/x', 0, { cost: 6 })
  await stage.fill('b', 10)
  const text = await read()
  const refused = text.all('family_refusals_total').map(({ labels, value }) => [labels, value])
  expect(refused).toEqual([
    [{ pattern: '*/', outcome: 'full' }, 5 + 6],
    [{ pattern: '*/', outcome: 'too-costly' }, 1],
  ])
  expect(text.value('admissions_total', { pattern: '*', outcome: 'full' })).toBe(5 + 6)
})

test('totals have bounded labels: the others count together', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `f${index}`)
  const stage = new Stage({
    '*': '5, 2/s',
    ...Object.fromEntries(names.map((name) => [`${name}/`, '5, 1/s'])),
  })
  const { read } = watched(stage, { maxPatterns: 3 })
  for (const name of names) await stage.fill(`${name}/x`, 1)
  const text = await read()
  const patterns = text.all('families').map(({ labels, value }) => [labels['pattern'], value])
  expect(patterns).toEqual([
    ['f0/', 1],
    ['f1/', 1],
    ['f2/', 1],
    ['other', 17],
  ])
})

test('totals are not looked for where no rule is one', async () => {
  const stage = new Stage({ '*': '5, 2/s' })
  const { read } = watched(stage)
  stage.shaper.surveyFamilies = () => {
    throw new Error('was asked')
  }
  await stage.fill('k', 1)
  const text = await read()
  expect(text.value('waiting', { pattern: '*' })).toBe(1)
  expect(text.all('families')).toEqual([])
})
