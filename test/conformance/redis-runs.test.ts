import { describe, expect, it, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import type { JobRequest } from '../../src/line/job.ts'
import type { FollowingJob, FollowRequest } from '../../src/redis/verbs/follow.ts'
import type { HandedJob } from '../../src/redis/verbs/handed-job.ts'
import { at, msAt } from '../support/backend-driver.ts'
import { BACK, COMPLETED, RedisStage } from './redis-stage.ts'
import { FAST, running } from './running.ts'

const STEP = 0.01

const ids = (jobs: readonly FollowingJob[]) => jobs.map(({ job: { id } }) => id).join('')

async function granted(stage: RedisStage, job: HandedJob, seconds: number) {
  // Its slot is a missed one by then.
  const answer = await stage.gate(job, seconds, { missed: at(0) })
  if (answer.kind !== 'granted') throw new Error(answer.kind)
  return answer
}

describe('the worker that has the first job of a fast bucket', () => {
  it('gets the next ones at once, in order, with all that a start needs', async () => {
    const stage = await RedisStage.open(FAST)
    await stage.lineUp('v', 0)
    await stage.lineUp('w', 0, { data: '[{}]', cost: 2, traceparent: '00-1-2-01' })
    await stage.lineUp('xyz', 0)
    expect((await stage.hand(0, 250)).map(({ id }) => id)).toEqual(['v'])
    const answer = await stage.follow(0, 0, { most: 2 })
    expect(answer).toMatchObject({ now: at(0), interval: 10_000, tolerance: 2_500, pattern: '*', jobs: [] })
    const [v] = (await stage.recover(99)).map(({ id, epoch }) => ({ id, epoch }))
    expect(v!.id).toBe('v')
    const [again] = await stage.hand(99, 250)
    await stage.gate(again!, 99)
    const { jobs } = await stage.follow(again!.epoch, 99, { most: 2 })
    expect(jobs).toEqual([
      {
        handed: { id: 'w', epoch: expect.any(Number) },
        earliest: 0,
        latest: at(99.26),
        job: {
          id: 'w',
          key: 'a',
          data: '[{}]',
          cost: 2,
          settings: expect.any(Object),
          attempt: 1,
          crashes: 0,
          fence: expect.any(Number),
          admittedAt: at(0),
          traceparent: '00-1-2-01',
        },
      },
      expect.objectContaining({ handed: { id: 'x', epoch: expect.any(Number) } }),
    ])
    await stage.balances()
  })

  it('starts them in order, each after the one before it as the pace wants, and the store counts the same slots', async () => {
    const { stage, first, jobs, following } = await running('vwxyz')
    expect(ids(jobs)).toBe('wxyz')
    expect(await stage.start(first, 0)).toBe(true)
    for (const [index, job] of following.entries()) {
      expect(await stage.start(job, (index + 1) * STEP)).toBe(true)
      await stage.balances()
    }
    await stage.lineUp('a', 0.041)
    const [a] = await stage.hand(0.041, 250)
    expect(await stage.gate(a!, 0.041)).toMatchObject({ startAt: at(0.05) })
  })

  it.each([
    ['within the tolerance keeps the grid', 0.002, 0.02],
    ['beyond the tolerance moves it', 0.004, 0.024],
  ])('a start that is late %s', async (_, late, next) => {
    const { stage, first, following } = await running('vwx')
    await stage.start(first, 0)
    await stage.start(following[0]!, STEP + late)
    // The last one asks for its slot.
    const answer = await stage.gate(following[1]!, STEP + late)
    expect(answer).toMatchObject({ kind: 'granted', slot: at(next), job: { attempt: 1 } })
    await stage.balances()
  })

  it('hears again of jobs that it does not know, and gets no others with them', async () => {
    const { stage, first, jobs } = await running('vwxyz')
    const again = await stage.follow(first.epoch, 0.001)
    expect(again.jobs.map(({ handed, job }) => [handed, job.fence])).toEqual(
      jobs.map(({ handed, job }) => [handed, job.fence]),
    )
    expect((await stage.follow(jobs.at(-1)!.handed.epoch, 0.001)).jobs).toEqual([])
    await stage.balances()
  })

  it('gets so many as depart within a quarter of a second, and no more than 50 that have not started', async () => {
    const slow = await RedisStage.open('999, 50/s')
    const fast = await RedisStage.open('999, 2000/s, tolerance 0.1ms')
    const counts: number[] = []
    for (const stage of [slow, fast]) {
      for (let index = 0; index < 70; index++) await stage.admit(`j${index}`, 0)
      const [first] = await stage.hand(0, 250)
      await stage.gate(first!, 0)
      let known = first!.epoch
      for (let call = 0; call < 3; call++) {
        const { jobs } = await stage.follow(known, 0)
        counts.push(jobs.length)
        known = jobs.at(-1)?.handed.epoch ?? known
      }
      await stage.balances()
    }
    expect(counts).toEqual([12, 0, 0, 25, 24, 0])
  })
})

describe('one call for several buckets', () => {
  /** Fast buckets with so many jobs each, of which the first has a slot; how a worker asks for those behind it. */
  async function several(keys: readonly string[], jobs: number) {
    const stage = await RedisStage.open('99, 2000/s, tolerance 0.1ms')
    for (let job = 0; job < jobs; job++) {
      for (const key of keys) await stage.admit(`${key}${job}`, 0, { key })
    }
    const handed = await stage.hand(0, 250)
    for (const job of handed) await stage.gate(job, 0)
    return { stage, asked: handed.map(({ id, epoch }) => ({ key: id.slice(0, -1), known: epoch, most: 25 })) }
  }
  const follow = async (stage: RedisStage, asked: readonly FollowRequest[]) => {
    const { answers } = await stage.backend.verbs.follow(
      0,
      { worker: 'w1', lease: 30 * SECOND, error: 0 },
      asked,
      at(0),
    )
    return answers.map((answer) => answer?.jobs.map(({ job }) => job.id))
  }

  it('answers for each, also where one of them cannot be read or is gone', async () => {
    const { stage, asked } = await several(['b', 'c', 'd'], 3)
    await stage.redis.hset(`${stage.tag}:buckets`, 'c', 'foreign')
    const gone = { key: 'gone', known: 0, most: 25 }
    expect(await follow(stage, [asked[0]!, asked[1]!, gone, asked[2]!])).toEqual([
      ['b1', 'b2'],
      undefined,
      [],
      ['d1', 'd2'],
    ])
  })

  it('divides 25 jobs among them evenly, and each may get one beside', async () => {
    const { stage, asked } = await several(['b', 'c', 'd'], 40)
    expect((await follow(stage, asked)).map((jobs) => jobs!.length)).toEqual([9, 9, 9])
    await stage.balances()
  })

  it('names again what an answer that was lost has named, however much it is', async () => {
    const { stage, asked } = await several(['b', 'c', 'd'], 40)
    const first = await follow(stage, asked)
    const again = asked.map((request) => ({ ...request, most: 0 }))
    expect(await follow(stage, again)).toEqual(first)
    const more = await follow(
      stage,
      asked.map((request) => ({ ...request, known: 9e15 })),
    )
    expect(more.map((jobs) => jobs!.length)).toEqual([9, 9, 9])
    expect((await follow(stage, again)).map((jobs) => jobs!.length)).toEqual([18, 18, 18])
    await stage.balances()
  })
})

describe('gets none', () => {
  it('of a bucket of which another worker has jobs', async () => {
    const { stage, following } = await running('vwxyz')
    expect((await stage.follow(following.at(-1)!.epoch, 0, { worker: 'w2' })).jobs).toEqual([])
    expect((await stage.claim(0.001, { lookAhead: 250_000 })).jobs).toEqual([])
  })

  it.each(['9, 30/s', '9, 100/s, 99/minute', '9, 100/s, 9 at once', '9, 100/s, warm-up 1s'])(
    'of one whose limit is %s',
    async (limit) => {
      const stage = await RedisStage.open(limit)
      await stage.lineUp('xyz', 0)
      const [x] = await stage.hand(0)
      expect(await stage.gate(x!, 0)).toMatchObject({ kind: 'granted', mayRun: false })
      expect((await stage.follow(x!.epoch, 0)).jobs).toEqual([])
    },
  )

  it('of one below a total', async () => {
    const stage = await RedisStage.open({ '*': FAST, 'a/': '99, 50/s' })
    await stage.lineUp('xyz', 0, { key: 'a/b' })
    const [x] = await stage.hand(0)
    expect(await stage.gate(x!, 0)).toMatchObject({ mayRun: false })
    expect((await stage.follow(x!.epoch, 0, { key: 'a/b' })).jobs).toEqual([])
  })

  it.each(['pause', 'freeze'] as const)('of one that is held: %s', async (verb) => {
    const { stage, first, following } = await running('vwx')
    await stage.lineUp('yz', 0)
    const { verbs } = stage.backend
    const held = await (verb === 'pause' ? verbs.pause('a', at(0.001)) : verbs.freeze('a', SECOND, at(0.001)))
    // What it has departs all the same, and the answer says when.
    expect(held.departsAt).toBe(at(0.02))
    expect((await stage.follow(following.at(-1)!.epoch, 0.002)).jobs).toEqual([])
    const report = { ...first, startedAt: at(0.002) }
    expect(await verbs.start(0, [report], at(0.002))).toEqual(['stop'])
    const retry = { kind: 'retry', error: 'no', delay: SECOND } as const
    expect(await stage.finish(first, retry, 0.003)).toMatchObject({ stops: true, readyAt: at(1.003) })
    // Those that have not started come back when their worker asks.
    expect(await stage.gate(following[0]!, 0.003)).toEqual({ kind: 'returned' })
    expect(await stage.gate(following[1]!, 0.003)).toEqual({ kind: 'stale' })
    await stage.balances()
    if (verb === 'pause') await verbs.resume('a', at(0.5))
    const again = await stage.hand(2, 250)
    expect(again.map(({ id }) => id)).toEqual(['w'])
    expect(await stage.gate(again[0]!, 2)).toMatchObject({ job: { attempt: 1 } })
  })

  it.each<[string, Partial<JobRequest>]>([
    ['a turn', { isTurn: true }],
    ['a job with large data', { data: JSON.stringify('x'.repeat(9_999)) }],
    ['a job with a deadline that is near', { deadline: at(0.3) }],
  ])('behind %s', async (_, part) => {
    const stage = await RedisStage.open(FAST)
    await stage.lineUp('vw', 0)
    await stage.admit('isTurn' in part ? '~caller~1' : 'x', 0, part)
    await stage.lineUp('yz', 0)
    const [v] = await stage.hand(0)
    await stage.gate(v!, 0)
    expect(ids((await stage.follow(v!.epoch, 0)).jobs)).toBe('isTurn' in part ? '' : 'w')
    await stage.balances()
  })
})

describe('what did not start', () => {
  it('comes back in its order, without its attempt, with a job that is given back', async () => {
    const { stage, first, following } = await running('vwxyz')
    await stage.start(first, 0)
    await stage.finish(following[1]!, BACK, 0.01)
    await stage.balances()
    expect(await stage.views.job('x', at(0.01))).toMatchObject({ state: 'waiting', attempt: 0 })
    expect(await stage.start(following[0]!, 0.01)).toBe(true)
    expect((await stage.hand(0.02)).map(({ id }) => id)).toEqual(['x'])
    await stage.balances()
  })

  it('counts a crash each where its worker died, and starts again in its order', async () => {
    const { stage, first, following } = await running('vwxy')
    await stage.start(first, 0)
    await stage.finish(first, COMPLETED, 0.001)
    const lost = await stage.recover(40)
    expect(lost.map(({ id, crashed }) => [id, crashed]).sort()).toEqual([...'wxy'].map((id) => [id, true]))
    await stage.balances()
    const starts: string[] = []
    for (let tenth = 410; tenth < 440 && starts.length < 3; tenth++) {
      for (const job of await stage.hand(tenth / 10)) {
        const answer = await stage.gate(job, tenth / 10)
        if (answer.kind !== 'granted') continue
        // None of them is one of a run again: a job that kills its worker must not count against others.
        expect((await stage.follow(job.epoch, tenth / 10)).jobs).toEqual([])
        await stage.finish(job, COMPLETED, tenth / 10, tenth / 10)
        starts.push(job.id)
      }
    }
    expect(starts.join('')).toBe('wxy')
    expect(following).toHaveLength(3)
    await stage.balances()
  })

  it('started where a later one did, though its report is late', async () => {
    const { stage, first, following } = await running('vwxyz')
    expect(await stage.start(following[1]!, 0.02)).toBe(true)
    await stage.balances()
    expect(await stage.views.audit()).toMatchObject({ running: 3, handed: 2 })
    expect(await stage.finish(first, COMPLETED, 0.03, 0)).toMatchObject({ isMine: true })
    expect(await stage.finish(following[0]!, COMPLETED, 0.03, 0.01)).toMatchObject({ isMine: true })
    expect(await stage.start(following[2]!, 0.03)).toBe(true)
    await stage.balances()
  })

  it.each(['9, 100/s, 9/minute', '9, 30/s', '9, 100/s, 1 at once'])(
    'is to ask for its slot under %s',
    async (limit) => {
      const { stage, first, following } = await running('vwx')
      await stage.start(first, 0)
      await stage.backend.rules.change({ kind: 'set', rule: parseRule('*', limit) }, at(0.001))
      const report = { ...following[0]!, startedAt: at(STEP) }
      expect(await stage.backend.verbs.start(0, [report], at(STEP))).toEqual(['stop'])
      await stage.balances()
    },
  )

  it('waits for its slot under a limit that was lowered meanwhile', async () => {
    const { stage, first, following } = await running('vwx')
    await stage.start(first, 0)
    await stage.backend.rules.change({ kind: 'set', rule: parseRule('*', '9, 1/s') }, at(0.001))
    expect(await stage.start(following[0]!, STEP)).toBe(true)
    expect(await stage.follow(following[1]!.epoch, 0.011)).toMatchObject({ interval: 0, jobs: [] })
    expect(await stage.gate(following[1]!, 0.012)).toEqual({ kind: 'returned' })
    await stage.balances()
    expect(await stage.startOfHead(0.5, 5)).toBeCloseTo(1.01, 2)
  })
})

test('the fences of a run grow in the order of its starts, also where its first job asks again', async () => {
  const { stage, first, jobs } = await running('vwx')
  const { job } = await granted(stage, first, 0.02)
  expect([job, ...jobs.map(({ job }) => job)].map(({ id }) => id)).toEqual(['v', 'w', 'x'])
  const fences = [job, ...jobs.map(({ job }) => job)].map(({ fence }) => fence)
  expect(fences).toEqual(fences.toSorted((a, b) => a - b))
})

test('the fences of a run grow also where a total comes, so that its jobs ask for their slots, and goes again', async () => {
  const stage = await RedisStage.open(FAST)
  const { rules } = stage.backend
  await stage.lineUp('vwx', 0, { key: 'a/b' })
  const [first] = await stage.hand(0, 250)
  expect(await stage.gate(first!, 0)).toMatchObject({ kind: 'granted' })
  const { jobs } = await stage.follow(first!.epoch, 0, { key: 'a/b' })
  await stage.start(first!, 0)
  await rules.change({ kind: 'set', rule: parseRule('a/', '99, 50/s') }, at(0.001))
  const second = await granted(stage, jobs[0]!.handed, 0.02)
  expect(await stage.start(jobs[0]!.handed, 0.02)).toBe(true)
  await rules.change({ kind: 'unset', pattern: 'a/' }, at(0.021))
  const third = await granted(stage, jobs[1]!.handed, 0.04)
  expect([second.job.id, third.job.id]).toEqual(['w', 'x'])
  expect(third.job.fence).toBeGreaterThan(second.job.fence)
  await stage.balances()
})

test.each(['9, 30/s', '9, 100/s, 9/minute'])(
  'what a lost answer named is named again, also where the limit became %s and more was handed over meanwhile',
  async (limit) => {
    const { stage, first, jobs } = await running('vwx')
    await stage.start(first, 0)
    await stage.backend.rules.change({ kind: 'set', rule: parseRule('*', limit) }, at(0.001))
    await stage.lineUp('yz', 0.002)
    expect((await stage.hand(0.3, 250)).map(({ id }) => id)).toContain('y')
    const again = await stage.follow(first.epoch, 0.31, { most: 0 })
    expect(again.jobs.map(({ handed }) => handed)).toEqual(jobs.map(({ handed }) => handed))
    expect((await stage.follow(first.epoch, 0.31, { most: 0, worker: 'w2' })).jobs).toEqual([])
    await stage.balances()
  },
)

test('the bucket is due again when no worker has jobs of it', async () => {
  const { stage, first, following } = await running('vw')
  await stage.lineUp('xy', 0)
  expect((await stage.claim(0.001, { lookAhead: 250_000 })).jobs).toEqual([])
  await stage.start(first, 0)
  expect((await stage.claim(0.002, { lookAhead: 250_000 })).jobs).toEqual([])
  await stage.start(following[0]!, STEP)
  expect((await stage.hand(0.011, 250)).map(({ id }) => id)).toEqual(['x'])
  expect((await stage.inspect('a', 0.011))!.nextDepartureAt).toBe(msAt(0.02))
  await stage.balances()
})

test('after a jump of the clock, the next jobs keep away from it by an interval', async () => {
  const { stage, first, following } = await running('vw')
  await stage.lineUp('xy', 0)
  await stage.start(first, 0)
  await stage.backend.verbs.quarantine(0, at(0.015))
  const { jobs } = await stage.follow(following[0]!.epoch, 0.016)
  expect(jobs.map(({ earliest }) => earliest)).toEqual([at(0.025), at(0.025)])
})
