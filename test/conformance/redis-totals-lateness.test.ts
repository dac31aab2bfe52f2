import { expect, onTestFinished, test } from 'vitest'
import { parseRule } from '../../src/core/rule-book.ts'
import { at } from '../support/backend-driver.ts'
import { BACK, RedisStage } from './redis-stage.ts'

async function opened(total: string) {
  const stage = await RedisStage.open({ 'a/*': '99, 50/s', 'a/': total }, { openedAt: at(0) })
  onTestFinished(() => stage.backend.wakes.stop())
  for (const key of ['a/1', 'a/2']) {
    for (let n = 0; n < 4; n++) await stage.admit(`${key}-${n}`, 0, { key })
  }
  return stage
}

/** By how much each of the starts is later than its slot, in milliseconds, where the worker asks so late for it. */
async function lateness(stage: RedisStage, starts: number, lateMs: number): Promise<number[]> {
  const found: number[] = []
  for (let hundredth = 0; found.length < starts; hundredth++) {
    const due = hundredth / 100
    const [job] = await stage.hand(due)
    if (job === undefined) continue
    const answer = await stage.gate(job, due + lateMs / 1_000)
    if (answer.kind !== 'granted') throw new Error(answer.kind)
    found.push((answer.startAt - answer.due) / 1_000)
    expect(await stage.start(job, (answer.startAt - at(0)) / 1_000_000)).toBe(true)
  }
  return found
}

test.each(['900, 5/s', '900, 50/s, 5/s', '900, 5/s, 2/s'])(
  'a start is as late as it is for what its total lets go, where that is %s',
  async (total) => {
    const inTime = await lateness(await opened(total), 6, 0)
    // Claims are a hundredth of a second apart.
    expect(Math.max(...inTime)).toBeLessThanOrEqual(10)
    const late = await lateness(await opened(total), 6, 40)
    for (const each of late.slice(1)) expect(each).toBeGreaterThanOrEqual(40)
    expect(Math.max(...late)).toBeLessThanOrEqual(50)
  },
)

test('a job that missed its slot and has another is not late for that', async () => {
  const stage = await opened('900, 5/s')
  await stage.run(0)
  const [job] = await stage.hand(0.2)
  const first = await stage.gate(job!, 0.2)
  const second = await stage.gate(job!, 0.5, { ...(first.kind === 'granted' && { missed: first.slot }) })
  expect(second).toMatchObject({ kind: 'granted', startAt: at(0.5), due: at(0.5) })
})

test.each([
  ['100ms', '20ms'],
  ['20ms', '100ms'],
])(
  'the last slot of a total is free again where its job comes back after its tolerance went from %s to %s',
  async (from, to) => {
    const stage = await opened(`900, 2/s, tolerance ${from}`)
    const [job] = await stage.hand(0)
    expect(await stage.gate(job!, 0)).toMatchObject({ kind: 'granted', startAt: at(0) })
    const { rules } = stage.backend
    await rules.change({ kind: 'set', rule: parseRule('a/', `900, 2/s, tolerance ${to}`) }, at(0.01))
    await stage.admit('after', 0.02, { key: 'a/after' })
    expect(await stage.finish(job!, BACK, 0.03)).toMatchObject({ isMine: true })
    const jobs = await stage.hand(0.04)
    expect(jobs).toHaveLength(1)
    expect(await stage.gate(jobs[0]!, 0.04)).toMatchObject({ kind: 'granted', startAt: at(0.04) })
  },
)
