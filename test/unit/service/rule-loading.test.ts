import { expect, test, vi } from 'vitest'
import type { Shaper } from '../../../src/index.ts'
import { RuleLoading } from '../../../src/service/rule-loading.ts'
import { memorableLog } from './memorable-log.ts'

type Limits = Readonly<Record<string, string>>

/** A shaper of which only the loading of limits is asked; it fails as long as it is away. */
function shaperThat(state: { isAway: boolean }) {
  const loaded: Limits[] = []
  const load = async (limits: Limits, options: object) => {
    expect(options).toEqual({ origin: 'file' })
    if (state.isAway) throw new Error('Redis does not answer')
    loaded.push(limits)
    return { set: [], unset: [] }
  }
  return { shaper: { limits: { load } } as unknown as Shaper, loaded }
}

test('limits that could not be loaded are loaded once they can be; of several, the newest', async () => {
  const state = { isAway: true }
  const { shaper, loaded } = shaperThat(state)
  const { log, lines } = memorableLog()
  let onFailure: () => void = () => undefined
  const firstFailure = new Promise<void>((resolve) => {
    onFailure = resolve
  })
  const failing: typeof log = {
    ...log,
    error: (...told) => {
      log.error(...told)
      onFailure()
    },
  }
  const loading = new RuleLoading(shaper, failing)
  void loading.load({ '*': '1, 1/s' }).then(() => lines.push({ level: '', message: 'loaded', fields: {} }))
  void loading.load({ '*': '2, 2/s' })
  await firstFailure
  expect(loaded).toEqual([])
  state.isAway = false
  await vi.waitFor(() => expect(lines.at(-1)?.message).toBe('loaded'), { timeout: 5_000 })
  expect(loaded).toEqual([{ '*': '2, 2/s' }])
  expect(lines.map(({ level, message }) => [level, message])).toEqual([
    ['error', 'limits not loaded yet'],
    ['info', 'limits in force'],
    ['', 'loaded'],
  ])
})

test('closed, it tries no more', async () => {
  const { shaper, loaded } = shaperThat({ isAway: true })
  const { log } = memorableLog()
  const loading = new RuleLoading(shaper, log)
  const ended = loading.load({ '*': '1, 1/s' })
  loading.close()
  await ended
  expect(loaded).toEqual([])
})

test('limits that come while others are being loaded are loaded after them', async () => {
  const { shaper, loaded } = shaperThat({ isAway: false })
  const { log } = memorableLog()
  const loading = new RuleLoading(shaper, log)
  const first = loading.load({ a: '1, 1/s' })
  const second = loading.load({ b: '1, 1/s' })
  await Promise.all([first, second])
  expect(loaded.at(-1)).toEqual({ b: '1, 1/s' })
})
