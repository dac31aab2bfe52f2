import { expect, onTestFinished, test } from 'vitest'
import { parseRule } from '../../src/core/rule-book.ts'
import type { HandedJob } from '../../src/redis/verbs/handed-job.ts'
import { at } from '../support/backend-driver.ts'
import { recount } from '../support/recount.ts'
import { COMPLETED, RedisStage } from './redis-stage.ts'

async function opened(limits: Readonly<Record<string, string>>) {
  const stage = await RedisStage.open(limits, { openedAt: at(0) })
  onTestFinished(() => stage.backend.wakes.stop())
  return stage
}

function setLimit(stage: RedisStage, pattern: string, limit: string) {
  return stage.backend.rules.change({ kind: 'set', rule: parseRule(pattern, limit) }, at(0.01))
}

/** The jobs that start until then, where each that is granted a slot starts and ends at once. */
async function startsUntil(stage: RedisStage, until: number, handed: readonly HandedJob[]): Promise<string> {
  let ids = ''
  let left = [...handed]
  for (let tenth = 1; tenth <= until * 10; tenth++) {
    left.push(...(await stage.hand(tenth / 10)))
    for (const job of left) {
      if ((await stage.gate(job, tenth / 10)).kind !== 'granted') continue
      expect(await stage.finish(job, COMPLETED, tenth / 10, tenth / 10)).toMatchObject({ isMine: true })
      left = left.filter((other) => other !== job)
      ids += job.id
    }
  }
  expect(await recount(stage.redis, stage.tag)).toEqual([])
  return ids
}

// Eight jobs have room in what the total counts by, for an hour.
test.each([
  ['1000 tokens/hour 100 each', '9/hour'],
  ['1000 tokens/hour 50 each', '9 tokens/hour 1 each'],
  ['90000 tokens/day 5000 each, 9/hour', '9/hour'],
])(
  'what was handed over holds up no other by what it counted before, where a total has "%s" and then "%s"',
  async (before, after) => {
    for (const isHeld of [false, true]) {
      const stage = await opened({ 'a/*': '99, 10/s', 'a/': `900, 10/s, ${before}` })
      // Its worker has no handler for it, and it stays with that.
      if (isHeld) await stage.admit('held', 0, { key: 'a/held' })
      await stage.lineUp('abcdefgh', 0, { key: 'a/x' })
      const handed = await stage.hand(0, 250)
      expect(handed).toHaveLength(3)
      await setLimit(stage, 'a/', `900, 10/s, ${after}`)
      const others = handed.filter(({ id }) => id !== 'held')
      expect(await startsUntil(stage, 3, others), String(isHeld)).toBe('abcdefgh')
    }
  },
)

test('jobs of a run that start when their key has come below a total hold up no other', async () => {
  const stage = await opened({ '*': '99, 100/s' })
  await stage.admit('held', 0, { key: 'a/held' })
  await stage.lineUp('abcdefgh', 0, { key: 'a/x' })
  const [first] = (await stage.hand(0, 250)).filter(({ id }) => id !== 'held')
  expect(await stage.gate(first!, 0)).toMatchObject({ kind: 'granted' })
  const { jobs } = await stage.follow(first!.epoch, 0, { key: 'a/x', most: 5 })
  expect(await stage.start(first!, 0)).toBe(true)
  await setLimit(stage, 'a/', '900, 100/s, 8/hour')
  for (const [index, { handed }] of jobs.entries()) {
    expect(await stage.start(handed, (index + 1) / 100)).toBe(true)
    expect(await stage.finish(handed, COMPLETED, (index + 1) / 100)).toMatchObject({ isMine: true })
  }
  expect(await startsUntil(stage, 3, [])).toBe('gh')
})

test('what was handed over before another total came counts once in the one above that', async () => {
  const stage = await opened({ '*': '99, 10/s', 'a/': '900, 10/s, 10/hour' })
  await stage.admit('held', 0, { key: 'a/b/held' })
  await stage.lineUp('abcdefgh', 0, { key: 'a/b/x' })
  const handed = await stage.hand(0, 250)
  await setLimit(stage, 'a/*/', '900, 10/s')
  const others = handed.filter(({ id }) => id !== 'held')
  expect(await startsUntil(stage, 3, others)).toBe('abcdefgh')
})
