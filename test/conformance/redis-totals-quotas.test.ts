import { expect, onTestFinished, test, vi } from 'vitest'
import { parseRule } from '../../src/core/rule-book.ts'
import { at } from '../support/backend-driver.ts'
import { BACK, RedisStage } from './redis-stage.ts'

const limit = (quotas: string) => ['900, 10/s', ...(quotas === '' ? [] : [quotas])].join(', ')

/** Children of a total, one of which has a slot. Those that live do not follow a change of its limit: it comes with the first job of a new key. */
async function opened(quotas: string) {
  const stage = await RedisStage.open({ 'a/*': '99, 10/s', 'a/': limit(quotas) }, { openedAt: at(0) })
  const { store, rules, wakes } = stage.backend
  onTestFinished(() => wakes.stop())
  const run = store.run.bind(store)
  vi.spyOn(store, 'run').mockImplementation((script, ...rest) => {
    return script.verb === 'retime' ? new Promise(() => {}) : run(script, ...rest)
  })
  await stage.admit('early', 0, { key: 'a/early' })
  const [early] = await stage.hand(0)
  expect(await stage.gate(early!, 0)).toMatchObject({ kind: 'granted' })
  return {
    stage,
    early: early!,
    change: async (to: string, seconds: number) => {
      const { version } = rules.book
      void rules.change({ kind: 'set', rule: parseRule('a/', limit(to)) }, at(seconds))
      await expect.poll(() => rules.book.version).toBeGreaterThan(version)
      await stage.admit(`after-${to}-${seconds}`, seconds, { key: `a/after-${seconds}` })
    },
    /** How many jobs of the family start in that time. */
    startsIn: async (from: number, until: number) => {
      let starts = 0
      for (let tenth = Math.round(from * 10); tenth < until * 10; tenth++) {
        for (const job of await stage.hand(tenth / 10)) {
          if ((await stage.gate(job, tenth / 10)).kind !== 'granted') continue
          expect(await stage.start(job, tenth / 10)).toBe(true)
          starts++
        }
      }
      return starts
    },
  }
}

// A quota of a unit lets four jobs start, each of which counts two. `from`: when the first change comes, in seconds.
const CHANGES = [
  { before: '', changes: ['4/h'] },
  { before: '9/s', changes: ['9/s, 4/h'], from: 2 },
  { before: '9 tokens/h 1 each', changes: ['9 tokens/h 2 each'] },
  { before: '', changes: ['4/h', '', '4/h'] },
]

test.each(CHANGES)(
  'what no slot was charged is given back by none, where after $before come $changes',
  async ({ before, changes, from = 0 }) => {
    for (const [fate, follows] of [
      ['starts', false],
      ['starts', true],
      ['comes back', false],
      ['comes back', true],
    ] as const) {
      const { stage, change, startsIn, early } = await opened(before)
      for (const [index, to] of changes.entries()) await change(to, from + (index + 1) / 100)
      if (follows) await stage.admit('behind', from + 0.05, { key: 'a/early' })
      // It counts in the same part of the window.
      let starts = await startsIn(from + 0.1, from + 0.2)
      expect(starts).toBe(1)
      if (fate === 'starts') {
        expect(await stage.start(early, from + 0.2)).toBe(true)
        starts++
      } else expect(await stage.finish(early, BACK, from + 0.2)).toMatchObject({ isMine: true })
      await stage.lineUp('abcdefgh', from + 0.3, { key: 'a/more' })
      starts += await startsIn(from + 0.3, from + 2)
      expect(starts, `${fate}, ${follows}`).toBe(4)
    }
  },
)

test.each([
  ['4/h', false],
  ['4/h', true],
  ['4/h, 99/day', false],
  ['4/h, 99/day', true],
])('a slot that "4/h" was charged is given back to it under "%s", weight 2', async (to, follows) => {
  const { stage, change, startsIn, early } = await opened('4/h')
  await change(`${to}, weight 2`, 0.01)
  if (follows) await stage.admit('behind', 0.05, { key: 'a/early' })
  expect(await startsIn(0.1, 0.2)).toBe(1)
  expect(await stage.finish(early, BACK, 0.2)).toMatchObject({ isMine: true })
  await stage.lineUp('abcdefgh', 0.3, { key: 'a/more' })
  expect(await startsIn(0.3, 2)).toBe(3)
})

test.each([['starts'], ['comes back']])(
  'a job that asks again and again after its total got a quota is charged once, and %s',
  async (fate) => {
    const { stage, change, startsIn, early } = await opened('')
    await change('4/h', 0.01)
    expect(await startsIn(0.1, 0.2)).toBe(1)
    for (const seconds of [0.2, 0.21, 0.22]) {
      expect(await stage.gate(early, seconds)).toMatchObject({ kind: 'granted' })
    }
    let starts = 1
    if (fate === 'starts') {
      expect(await stage.start(early, 0.3)).toBe(true)
      starts++
    } else expect(await stage.finish(early, BACK, 0.3)).toMatchObject({ isMine: true })
    await stage.lineUp('abcdefgh', 0.4, { key: 'a/more' })
    starts += await startsIn(0.4, 2)
    expect(starts).toBe(4)
  },
)
