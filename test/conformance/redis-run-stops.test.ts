import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { SECOND } from '../../src/core/duration.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { RedisClock } from '../../src/redis/slots/redis-clock.ts'
import { ShardCalls } from '../../src/redis/slots/shard-calls.ts'
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

/** A worker that has the first of three jobs, and takes the time of Redis for `ahead` seconds more than it is. */
async function atWork(ahead = 0) {
  const stage = await RedisStage.open(FAST)
  const { store, verbs } = stage.backend
  // A script that Redis does not have yet is sent twice.
  await verbs.follow(0, { worker: 'w0', lease: SECOND, error: 0 }, [{ key: 'z', known: 0, most: 0 }])
  await verbs.start(0, [{ id: 'none', epoch: 1, startedAt: 1 }])
  await verbs.finish(0, [{ id: 'none', epoch: 1, outcome: COMPLETED }])
  const startedAt = await store.time(0)
  const seconds = (startedAt - at(0)) / SECOND
  await stage.lineUp('vwx', seconds)
  const [first] = await stage.hand(seconds, 250)
  await stage.gate(first!, seconds)
  const onError = vi.fn()
  const ping = async () => (await store.time(0)) + ahead * SECOND
  const storeClock = new RedisClock({ clock: systemClock, ping, onJump: () => Promise.resolve() })
  storeClock.start()
  onTestFinished(() => storeClock.stop())
  await new Promise<void>((resolve) => void storeClock.onSound(resolve))
  const calls = new ShardCalls({
    backend: verbs,
    clock: systemClock,
    storeClock: () => storeClock,
    worker: 'w1',
    lease: SECOND,
    onError,
  })
  const follow = () => calls.follow(0, { key: 'a', known: first!.epoch, most: 9 })
  return { stage, calls, first: first!, follow, onError, startedAt }
}

test('what the network brings when its worker has given up is refused, unreported, and its jobs stay in the line', async () => {
  const { stage, follow, onError } = await atWork(-3)
  await expect(follow()).rejects.toMatchObject({ code: 'backend-unavailable' })
  expect(await stage.views.audit()).toMatchObject({ waiting: 2, handed: 1 })
  expect(onError).not.toHaveBeenCalled()
  await stage.balances()
})

test.each(['start', 'finish'] as const)(
  'what follows a job is asked for before its %s is reported',
  async (report) => {
    const { stage, calls, first, follow, startedAt } = await atWork()
    const followed = follow()
    if (report === 'start') await calls.start(0, { ...first, startedAt })
    else await calls.finish(0, { ...first, startedAt, outcome: COMPLETED })
    expect((await followed)!.jobs.map(({ job }) => job.id)).toEqual(['w', 'x'])
    await stage.balances()
  },
)
