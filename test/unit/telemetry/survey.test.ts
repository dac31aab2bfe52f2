import { expect, onTestFinished, test } from 'vitest'
import { Shaper } from '../../../src/index.ts'
import { collectMetrics } from '../../../src/telemetry/metrics.ts'
import { VirtualClock } from '../../../src/testing.ts'
import { Stage } from '../../support/stage.ts'

async function keysOf(shaper: Shaper): Promise<{ keys: string[]; pages: number }> {
  const keys: string[] = []
  let pages = 0
  for await (const page of shaper.survey()) {
    pages++
    for (const { key } of page) keys.push(key)
  }
  return { keys, pages }
}

const names = (count: number) => Array.from({ length: count }, (_, n) => `k/${n}`)

async function fill(shaper: Shaper, keys: readonly string[]): Promise<void> {
  for (let from = 0; from < keys.length; from += 1_000) {
    await shaper.enqueueMany(keys.slice(from, from + 1_000).map((key) => ({ key, data: 0 })))
  }
}

test('in memory every live bucket is surveyed, as in `inspect`', async () => {
  const { shaper, clock } = new Stage('5, 1/s')
  await fill(shaper, names(1_000))
  await shaper.pause('k/7')
  await clock.advance(5_000_000)
  const { keys, pages } = await keysOf(shaper)
  expect(keys.sort()).toEqual(names(1_000).sort())
  expect(pages).toBeGreaterThanOrEqual(5)
  for await (const page of shaper.survey()) {
    for (const view of page) expect(view).toEqual(await shaper.inspect(view.key))
  }
})

test('without buckets there is nothing to survey', async () => {
  expect((await keysOf(new Stage('5, 1/s').shaper)).keys).toEqual([])
})

test('a walk ends even if buckets are created faster, and misses none that lives throughout', async () => {
  const stage = new Stage({ '*': '5, 1/s', stays: '5, 1/h' })
  stage.shaper.work(() => undefined)
  const staying = names(400).map((key) => `stays/${key}`)
  await fill(stage.shaper, staying)
  await stage.pass(10)
  const seen = new Set<string>()
  let pages = 0
  for await (const page of stage.shaper.survey()) {
    for (const { key } of page) seen.add(key)
    expect(++pages).toBeLessThan(10)
    // For each that was looked at, one comes.
    await fill(
      stage.shaper,
      names(400).map((key) => `new/${pages}/${key}`),
    )
  }
  expect(staying.filter((key) => !seen.has(key))).toEqual([])
})

test('over 100,000 buckets every page is short, and metrics answer before their walk has ended', async () => {
  // Without the record that a stage keeps of each.
  const shaper = new Shaper('survey', { limits: { '*': '5, 1/h' }, clock: new VirtualClock() })
  await fill(shaper, names(100_000))
  let count = 0
  let longest = 0
  for await (const page of shaper.survey()) {
    count += page.length
    longest = Math.max(longest, page.length)
  }
  expect([count, longest]).toEqual([100_000, 200])
  const metrics = collectMetrics(shaper, { cacheMs: 0 })
  onTestFinished(() => metrics.close())
  const { text } = await metrics.text()
  // The walk has not come to its end: nothing is better than a part.
  expect(text).not.toMatch(/^velvet_rope_waiting\{/m)
})
