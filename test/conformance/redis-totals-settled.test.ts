import { expect, onTestFinished, test, vi } from 'vitest'
import { MILLISECOND } from '../../src/core/duration.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import type { HandedJob } from '../../src/redis/verbs/handed-job.ts'
import { at, TURN_CALLER } from '../support/backend-driver.ts'
import { recount } from '../support/recount.ts'
import { tagsOf } from '../support/redis-tags.ts'
import { COMPLETED, RedisStage } from './redis-stage.ts'

async function opened(limits: Readonly<Record<string, string>>) {
  const stage = await RedisStage.open(limits, { openedAt: at(0) })
  onTestFinished(() => stage.backend.wakes.stop())
  return {
    stage,
    /** What the quota of the total counts. */
    used: async (seconds: number) => (await stage.views.family('a/', at(seconds)))?.quotas?.[0]?.used,
  }
}

/** Passes the gate for what was handed over; returns it with its slot. */
async function granted(stage: RedisStage, handed: HandedJob | undefined, seconds: number) {
  const answer = await stage.gate(handed!, seconds)
  if (answer.kind !== 'granted') throw new Error(`expected a slot, got: ${answer.kind}`)
  return answer.job
}

/** A turn of the key departs, and ends at once; returns what a settlement says of it later. */
async function endedTurn(stage: RedisStage, seconds: number, costs: { readonly tokens: number } | undefined) {
  const id = `~${TURN_CALLER}~1`
  await stage.admit(id, seconds, { key: 'a/x', ...(costs && { costs }) })
  await stage.hand(seconds)
  const [turn] = await stage.backend.inboxes.next(0, TURN_CALLER, MILLISECOND)
  const { fence } = await granted(stage, turn, seconds)
  const { charged = '' } = await stage.finish(turn!, COMPLETED, seconds, seconds)
  return { id, key: 'a/x', fence, startedAt: at(seconds), ended: { cost: 1, charged, costs } }
}

/** A job of the family starts, which counts `each`, and then a turn, which ends at once. */
async function ended(each: number, costs: { readonly tokens: number } | undefined, ofKeys: string) {
  const { stage, used } = await opened({ '*': ofKeys, 'a/': `900, 10/s, 90000 tokens/hour ${each} each` })
  await stage.admit('x', 0, { key: 'a/x' })
  await stage.run(0)
  const turn = await endedTurn(stage, 0.5, costs)
  const settle = async (tokens: number, seconds: number, isAgain: boolean) => {
    // A claim forgets the turn.
    await stage.hand(seconds)
    const ended = { ...turn.ended, isAgain }
    await stage.backend.verbs.settle({ ...turn, ended, amounts: { tokens } }, at(seconds))
    expect(await recount(stage.redis, stage.tag)).toEqual([])
    return (await used(seconds))! - each
  }
  return { stage, settle }
}

/** How far a key is in each total above it. */
async function tag(stage: RedisStage, key: string) {
  return (await tagsOf(stage.redis, stage.tag, key)).map((child) => child.tag)
}

// A turn that has ended is forgotten after ten seconds.
for (const seconds of [1, 30]) {
  for (const ofKeys of ['99, 10/s', '99, 10/s, 90000 tokens/hour 7 each']) {
    test.each([
      [1, 50, 60],
      [50, 1, 60],
      [1, 50, 1],
      [40, 50, 45],
      [40, 30, 5],
      [undefined, 30, 5],
      [undefined, 30, 45],
    ])(
      `below "${ofKeys}", a turn that named %s, and else counts %s, counts %s in a total once it is settled, ${seconds} s later`,
      async (named, each, tokens) => {
        const costs = named === undefined ? undefined : { tokens: named }
        const { settle } = await ended(each, costs, ofKeys)
        expect(await settle(tokens, seconds, false)).toBe(tokens)
      },
    )
  }
}

test('an ended turn whose settlement is asked for anew takes nothing back a second time', async () => {
  const { stage, settle } = await ended(30, { tokens: 40 }, '99, 10/s')
  await stage.admit('y', 1, { key: 'a/y' })
  await stage.run(1)
  expect(await settle(5, 2, false)).toBe(30 + 5)
  const share = await tag(stage, 'a/x')
  expect(await settle(5, 12, true)).toBe(30 + 5)
  expect(await tag(stage, 'a/x')).toEqual(share)
})

test('an ended turn whose settlement is asked for anew counts in a total that was charged less than its bucket', async () => {
  const { settle } = await ended(7, undefined, '99, 10/s, 90000 tokens/hour 50 each')
  expect(await settle(30, 12, true)).toBe(30)
})

// What started before counts nowhere in the total.
test.each([[1], [10]])(
  'a start from before its total takes back nothing of others when it is settled to %s',
  async (tokens) => {
    for (const totals of [{}, { 'a/': '900, 10/s' }] as readonly Record<string, string>[]) {
      const { stage, used } = await opened({ '*': '99, 10/s, 9000 tokens/day 10 each', ...totals })
      await stage.admit('early', 0, { key: 'a/x' })
      const [early] = await stage.hand(0)
      const { fence } = await granted(stage, early, 0)
      expect(await stage.start(early!, 0)).toBe(true)
      const rule = parseRule('a/', '900, 10/s, 900 tokens/day 10 each')
      await stage.backend.rules.change({ kind: 'set', rule }, at(0.1))
      await stage.admit('late', 0.2, { key: 'a/y' })
      await stage.run(0.2)
      expect(await used(0.3)).toBe(10)
      const settled = { id: 'early', key: 'a/x', fence, amounts: { tokens } }
      const share = await tag(stage, 'a/x')
      expect(await stage.backend.verbs.settle(settled, at(0.4))).toBe(true)
      expect(await used(0.4)).toBe(10)
      expect(await tag(stage, 'a/x')).toEqual(share)
    }
  },
)

test('a turn whose key was forgotten before the total came takes back nothing of others', async () => {
  const { stage, used } = await opened({ '*': '99, 10/s' })
  const turn = await endedTurn(stage, 0, { tokens: 10 })
  await stage.hand(30)
  expect(await stage.inspect('a/x', 30)).toBeUndefined()
  const rule = parseRule('a/', '900, 10/s, 900 tokens/day 10 each')
  await stage.backend.rules.change({ kind: 'set', rule }, at(30.1))
  await stage.admit('late', 31, { key: 'a/x' })
  await stage.run(31)
  await stage.backend.verbs.settle({ ...turn, amounts: { tokens: 1 } }, at(31.2))
  expect(await used(31.2)).toBe(10)
})

test('a start from before its total, and before the clock was set back, takes back nothing of others', async () => {
  const { stage, used } = await opened({ '*': '99, 10/s' })
  await stage.admit('early', 10, { key: 'a/x' })
  const [early] = await stage.hand(10)
  const { fence } = await granted(stage, early, 10)
  expect(await stage.start(early!, 10)).toBe(true)
  stage.setClock(5)
  await stage.jump(5, -5_000_000)
  const rule = parseRule('a/', '900, 10/s, 900 tokens/day 10 each')
  await stage.backend.rules.change({ kind: 'set', rule }, at(6))
  await stage.admit('late', 6.5, { key: 'a/y' })
  await stage.run(7)
  await stage.backend.verbs.settle({ id: 'early', key: 'a/x', fence, amounts: { tokens: 1 } }, at(7.1))
  expect(await used(7.1)).toBe(10)
})

test('a job that has a slot counts once in a total below which another key comes meanwhile', async () => {
  const { stage, used } = await opened({ '*': '99, 10/s' })
  await stage.admit('early', 0, { key: 'a/y' })
  await stage.run(0)
  await stage.admit('x', 0.5, { key: 'a/x' })
  const [x] = await stage.hand(0.5)
  // The process that changes the limits has not come to these keys.
  vi.spyOn(stage.backend.rules.buckets, 'retime').mockResolvedValue()
  vi.spyOn(stage.backend.rules.buckets, 'noteVersion').mockReturnValue()
  const rule = parseRule('a/', '900, 10/s, 900 tokens/day 10 each')
  await stage.backend.rules.change({ kind: 'set', rule }, at(0.5))
  await stage.admit('behind', 0.5, { key: 'a/x' })
  await granted(stage, x, 0.5)
  await stage.admit('late', 0.5, { key: 'a/y' })
  expect(await stage.start(x!, 0.5)).toBe(true)
  expect(await used(0.5)).toBe(10)
  expect(await recount(stage.redis, stage.tag)).toEqual([])
})
