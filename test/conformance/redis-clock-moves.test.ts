import { describe, expect, it } from 'vitest'
import { HOUR, SECOND } from '../../src/core/duration.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at } from '../support/backend-driver.ts'
import { uniquePrefix } from '../support/redis-server.ts'
import { COMPLETED, RedisStage } from './redis-stage.ts'

const STEP = 200_000

/** A stage on which the first of these jobs has a slot, and none has started. */
async function granted(ids: string, limit = '9, 1/s') {
  const stage = await RedisStage.open(limit)
  await stage.lineUp(ids, 0)
  const [first] = await stage.hand(0)
  await stage.gate(first!, 0)
  return { stage, first: first! }
}

/** A stage on which the first of these jobs runs since 0, with an interval of ten seconds. */
async function running(ids: string, prefix = uniquePrefix()) {
  const stage = await RedisStage.open('9, 1 per 10 seconds', { prefix })
  await stage.lineUp(ids, 0)
  const first = await stage.run(0)
  return { stage, first }
}

async function setBackByTenMinutes(stage: RedisStage): Promise<void> {
  stage.isSilent = true
  await stage.jump(-600)
  await stage.claim(-600)
}

/** The slot that the head is granted when it asks at that time; undefined where it must wait longer than a worker does. */
async function slotAt(stage: RedisStage, seconds: number): Promise<number | undefined> {
  const [job] = await stage.hand(seconds, 250)
  if (job === undefined) return undefined
  const answer = await stage.gate(job, seconds)
  return answer.kind === 'granted' ? answer.startAt : undefined
}

describe('a clock that is set back by ten minutes', () => {
  it('while no process runs holds no line up, however many there are', async () => {
    const stage = await RedisStage.open('9, 1/s')
    const keys = Array.from({ length: 300 }, (_, n) => `k${n}`)
    for (const key of keys) for (const n of [1, 2]) await stage.admit(`${key}-${n}`, 0, { key })
    for (const job of [...(await stage.hand(0)), ...(await stage.hand(0))]) {
      await stage.gate(job, 0)
      await stage.start(job, 0)
    }
    stage.isSilent = true
    const handed = new Set<string>()
    for (let tenth = 0; tenth < 40; tenth++) {
      for (const { id } of await stage.hand(-600 + tenth / 10)) handed.add(id)
    }
    expect(handed.size).toBe(300)
  })

  it.each([
    ['no worker or scheduler was ever heard', false, -600],
    ['none was heard for longer than that', true, 600],
  ] as const)('holds up no job that was admitted before, while %s', async (_, isHeard, seconds) => {
    const stage = await RedisStage.open('9, 1/s')
    stage.isSilent = true
    if (isHeard) await stage.claim(-600)
    const admittedAt = seconds + 600
    await stage.lineUp('x', admittedAt)
    const handed: string[] = []
    for (let tenth = 0; tenth < 20; tenth++) {
      for (const { id } of await stage.hand(seconds + tenth / 10)) handed.push(id)
    }
    expect(handed).toEqual(['x'])
  })

  it.each([
    ['was ever heard', false],
    ['was heard since', true],
  ])(
    'holds up no child of a total for which another was admitted since, where no worker %s',
    async (_, isHeard) => {
      const stage = await RedisStage.open({ 'f/': '9, 4/s', '*': '9, 1/s' })
      stage.isSilent = true
      if (isHeard) await stage.claim(-700)
      for (const [id, seconds] of [
        ['a', 0],
        ['b', -600],
      ] as const) {
        await stage.admit(id, seconds, { key: `f/${id}` })
      }
      const handed: string[] = []
      for (let second = -598; second < -590; second++) {
        for (const job of await stage.hand(second)) {
          handed.push(job.id)
          await stage.gate(job, second)
          await stage.start(job, second)
        }
      }
      expect(handed.toSorted()).toEqual(['a', 'b'])
    },
  )

  it('asks no producer to come back in the old time, before a claim has looked at the bucket', async () => {
    for (const isStarted of [false, true]) {
      const { stage, first } = await granted('xyz', '3, 1/s')
      if (isStarted) await stage.start(first, 0)
      stage.isSilent = true
      if (isStarted) await stage.admit('w', -600)
      const { admission } = await stage.admit('v', -600)
      expect(admission).toMatchObject({
        reason: 'full',
        retryAfterMs: expect.toSatisfy((wait) => wait <= 5_000),
      })
    }
  })

  it('voids a slot that was granted before', async () => {
    const { stage, first } = await granted('xy')
    await setBackByTenMinutes(stage)
    // The answer was lost, and it asks again.
    expect(await stage.gate(first, -599)).toMatchObject({ kind: 'granted', startAt: at(-599) })
  })

  it('lets a job behind that slot ask again soon, though no claim has looked at the bucket since', async () => {
    const stage = await RedisStage.open('9, 10/s')
    await stage.lineUp('xy', 0)
    const [x, y] = await stage.hand(0, 250)
    await stage.gate(x!, 0)
    stage.isSilent = true
    const answer = await stage.gate(y!, -600)
    expect(answer).toMatchObject({ kind: 'wait', until: expect.toSatisfy((until) => until <= at(-599.75)) })
  })

  it('before a start is reported, which still counts in the old time, holds the line up for one interval', async () => {
    const { stage, first } = await granted('xy')
    await setBackByTenMinutes(stage)
    expect(await stage.backend.verbs.start(0, [{ ...first, startedAt: at(0.1) }], at(-599.9))).toEqual([
      'started',
    ])
    const starts: number[] = []
    for (let tenth = 1; tenth < 30 && starts.length === 0; tenth++) {
      if ((await slotAt(stage, -600 + tenth / 10)) !== undefined) starts.push(tenth)
    }
    expect(starts).toEqual([expect.toSatisfy((tenth: number) => tenth >= 8 && tenth <= 16)])
  })

  it('lets no start wait again and again for a step forward that was noted before', async () => {
    const { stage } = await running('xyz')
    await stage.step(3, STEP)
    stage.isSilent = true
    await stage.claim(-597)
    const [y] = await stage.hand(-580, 250)
    expect(await stage.gate(y!, -580)).toMatchObject({ kind: 'granted', startAt: at(-580) })
    await stage.start(y!, -580)
    expect(await slotAt(stage, -570)).toBe(at(-570))
  })

  it('makes no retry wait longer than its pause, also where the job was handed over before', async () => {
    for (const isHanded of [false, true]) {
      const stage = await RedisStage.open('9, 10/s')
      await stage.lineUp('x', 0)
      const job = await stage.run(0)
      await stage.finish(job, { kind: 'retry', error: 'as planned', delay: 2 * SECOND }, 0.1)
      // It is handed over a little before it is ready.
      const [handed] = isHanded ? await stage.hand(1.9, 250) : []
      await setBackByTenMinutes(stage)
      if (!isHanded) expect(await stage.hand(-599.5)).toEqual([])
      // The store notes the time five times a second, so the retry may count as ready that much later.
      const next = handed ?? (await stage.hand(-596.8))[0]
      expect(next).toBeDefined()
      expect(await stage.gate(next!, -596.8)).toMatchObject({ kind: 'granted', startAt: at(-596.8) })
    }
  })
})

describe('a clock that is set back after a loss', () => {
  it.each([
    ['by ten minutes', -600, -598.5],
    ['by less than is noticed', 0.02, 1.6],
  ] as const)('%s: buckets wait for the loss still', async (_, back, expected) => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xy', 0)
    const replica = await stage.dump()
    await stage.run(0)
    await stage.restore(replica)
    await stage.redis.hset(shardKey(stage.tag, 'meta'), { run: 'the former master', heardAt: at(0) })
    await stage.claim(0.1, { lookAhead: -HOUR })
    stage.isSilent = true
    const slots: number[] = []
    for (let tenth = 0; tenth < 20 && slots.length === 0; tenth++) {
      const slot = await slotAt(stage, back + tenth / 10)
      if (slot !== undefined) slots.push(slot)
    }
    expect(slots).toEqual([at(expected)])
  })
})

describe('a clock that jumps forward before a start is reported', () => {
  it.each(['start', 'finish'] as const)(
    'keeps the next start away from when the %s was reported',
    async (verb) => {
      const { stage, first } = await granted('xy', '9, 5/s')
      // Another process has seen the jump; the worker of `x` has not, and starts it a moment later.
      await stage.jump(100)
      if (verb === 'start')
        await stage.backend.verbs.start(0, [{ ...first, startedAt: at(0.15) }], at(100.15))
      else
        await stage.backend.verbs.finish(
          0,
          [{ ...first, startedAt: at(0.15), outcome: COMPLETED }],
          at(100.15),
        )
      expect(await slotAt(stage, 100.3)).toBeGreaterThanOrEqual(at(100.345))
    },
  )
})

describe('after a jump of the clock', () => {
  it('one bucket with a foreign value keeps no other from starting', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('p', 0, { key: 'bad' })
    await stage.lineUp('q', 0, { key: 'good' })
    await stage.redis.set(`${stage.tag}:retry:1`, 'foreign value')
    await stage.jump(3)
    expect((await stage.hand(4)).map(({ id }) => id)).toEqual(['q'])
  })
})

describe('small steps of the clock forward', () => {
  it('add up where one process reports several, also within seconds', async () => {
    const { stage } = await running('xy')
    for (const seconds of [3, 6]) await stage.step(seconds, STEP / 2)
    expect(await slotAt(stage, 10)).toBe(at(10.2))
  })

  it('count once where several processes report the same', async () => {
    const prefix = uniquePrefix()
    const { stage } = await running('xy', prefix)
    const other = await RedisStage.open('9, 1 per 10 seconds', { prefix })
    await stage.step(3, STEP / 2)
    await other.step(3.5, STEP / 2 + 1_000)
    await other.step(6, STEP / 2)
    await stage.step(6.5, STEP / 2)
    expect(await slotAt(stage, 10)).toBe(at(10.201))
  })

  it('delay a start only by the steps since the start before it', async () => {
    const { stage } = await running('xyz')
    await stage.step(5, STEP)
    const [y] = await stage.hand(10, 250)
    expect(await stage.gate(y!, 10)).toMatchObject({ kind: 'granted', startAt: at(10.2) })
    await stage.start(y!, 10.2)
    await stage.step(15, STEP)
    expect(await slotAt(stage, 20.2)).toBe(at(20.4))
  })

  it('do not let a bucket be forgotten too early', async () => {
    const { stage, first } = await running('x')
    await stage.finish(first, COMPLETED, 1)
    await stage.step(5, STEP)
    await stage.claim(10.01)
    await stage.lineUp('y', 10.02)
    expect(await slotAt(stage, 10.02)).toBe(at(10.2))
  })

  it('let every bucket wait as after a jump when they are many', async () => {
    const { stage } = await running('xy')
    for (let n = 1; n <= 17; n++) await stage.step(n / 2, 10_000)
    expect(await slotAt(stage, 18.2)).toBeUndefined()
    expect(await slotAt(stage, 18.5)).toBe(at(18.5))
  })
})
