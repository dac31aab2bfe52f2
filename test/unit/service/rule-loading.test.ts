import { expect, test } from 'vitest'
import { BackendUnavailableError } from '../../../src/core/errors.ts'
import type { Shaper } from '../../../src/index.ts'
import { RuleLoading } from '../../../src/service/rule-loading.ts'
import { eventually } from '../../support/patience.ts'
import { memorableLog } from './memorable-log.ts'

type Limits = Readonly<Record<string, string>>

const file = (limits: Limits) => ({ origin: 'file' as const, limits })

/** A shaper of which only the loading of limits is asked; it fails as long as it is away. */
function shaperThat(state: { isAway: boolean }) {
  const loaded: Limits[] = []
  const load = async (limits: Limits, options: object) => {
    expect(options).toEqual({ origin: 'file' })
    if (state.isAway) throw new BackendUnavailableError('it does not answer')
    if ('bad' in limits) throw new Error('it never will')
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
    error: (...args) => {
      log.error(...args)
      onFailure()
    },
  }
  const loading = new RuleLoading(shaper, failing)
  void loading
    .load([file({ '*': '1, 1/s' })])
    .then(() => lines.push({ level: '', message: 'loaded', fields: {} }))
  void loading.load([file({ '*': '2, 2/s' })])
  await firstFailure
  expect(loaded).toEqual([])
  state.isAway = false
  await eventually(() => expect(lines.at(-1)?.message).toBe('loaded'))
  expect(loaded).toEqual([{ '*': '2, 2/s' }])
  expect(lines.map(({ level, message }) => [level, message])).toEqual([
    ['error', 'limits not loaded'],
    ['info', 'limits in force'],
    ['', 'loaded'],
  ])
})

test('closed, it stops retrying', async () => {
  const { shaper, loaded } = shaperThat({ isAway: true })
  const { log } = memorableLog()
  const loading = new RuleLoading(shaper, log)
  const ended = loading.load([file({ '*': '1, 1/s' })])
  loading.close()
  await ended
  expect(loaded).toEqual([])
})

test('limits that arrive during a load are loaded after it', async () => {
  const { shaper, loaded } = shaperThat({ isAway: false })
  const { log } = memorableLog()
  const loading = new RuleLoading(shaper, log)
  const first = loading.load([file({ a: '1, 1/s' })])
  const second = loading.load([file({ b: '1, 1/s' })])
  await Promise.all([first, second])
  expect(loaded.at(-1)).toEqual({ b: '1, 1/s' })
})

test('an error that a retry cannot fix is logged once, and does not block later limits', async () => {
  const { shaper, loaded } = shaperThat({ isAway: false })
  const { log, lines } = memorableLog()
  const loading = new RuleLoading(shaper, log)
  await loading.load([file({ bad: '1, 1/s' })])
  await loading.load([file({ a: '1, 1/s' })])
  expect(loaded).toEqual([{ a: '1, 1/s' }])
  expect(lines.map(({ message }) => message)).toEqual(['limits not loaded', 'limits in force'])
})
