import { expect, test, vi } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { at } from '../support/backend-driver.ts'
import { COMPLETED, RedisStage } from './redis-stage.ts'

const FAST = '99, 100/s'

test.each([
  ['*', '9, 100/s, 9/minute'],
  ['*', '9, 30/s'],
  ['*', '9, 100/s, 1 at once'],
  ['a/', '9, 100/s, 1 at once'],
  ['a/', '9, 100/s'],
])(
  'what did not start is to ask for its slot once %s has %s, as the end of an earlier one says',
  async (pattern, limit) => {
    const stage = await RedisStage.open(FAST)
    await stage.lineUp('vwx', 0, { key: 'a/b' })
    const [first] = await stage.hand(0, 250)
    await stage.gate(first!, 0)
    const { jobs } = await stage.follow(first!.epoch, 0, { key: 'a/b' })
    await stage.start(first!, 0)
    await stage.backend.rules.change({ kind: 'set', rule: parseRule(pattern, limit) }, at(0.001))
    expect(await stage.finish(first!, COMPLETED, 0.005)).toMatchObject({ isMine: true, stops: true })
    await stage.balances()
    // What is handed over from now on is in no run.
    const starts: string[] = []
    for (let tenth = 4; tenth < 9 && starts.length < 2; tenth++) {
      for (const job of [...jobs.map(({ handed }) => handed), ...(await stage.hand(tenth / 10))]) {
        const answer = await stage.gate(job, tenth / 10)
        if (answer.kind !== 'granted') continue
        starts.push(job.id)
        expect(await stage.start(job, tenth / 10)).toBe(true)
        const answered = await stage.finish(job, COMPLETED, tenth / 10)
        if (starts.length === 2) expect(answered).not.toHaveProperty('stops')
      }
    }
    expect(starts.join('')).toBe('wx')
    await stage.balances()
  },
)

test('a question that the network brings when its worker has given up is refused, and its jobs stay in the line', async () => {
  const stage = await RedisStage.open(FAST)
  await stage.lineUp('vwx', 0)
  const [first] = await stage.hand(0, 250)
  await stage.gate(first!, 0)
  const { store, verbs } = stage.backend
  const ask = () =>
    verbs.follow(0, { worker: 'w1', lease: SECOND, error: 0 }, [{ key: 'a', known: first!.epoch, most: 9 }])
  const longAgo = (await store.time(0)) - 3 * SECOND
  vi.spyOn(store, 'storeTime').mockResolvedValueOnce(longAgo)
  await expect(ask()).rejects.toMatchObject({ code: 'backend-unavailable' })
  expect(await stage.views.audit()).toMatchObject({ waiting: 2, handed: 1 })
  expect((await ask()).answers[0]!.jobs.map(({ job }) => job.id)).toEqual(['w', 'x'])
  await stage.balances()
})
