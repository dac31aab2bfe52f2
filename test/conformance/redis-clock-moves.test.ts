import { describe, expect, it } from 'vitest'
import { at } from '../support/backend-driver.ts'
import { uniquePrefix } from '../support/redis-server.ts'
import { COMPLETED, RedisStage } from './redis-stage.ts'

const STEP = 200_000

/** When the head is granted a slot that it asks for at the time, and whether it must wait longer than a worker does. */
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

  it('voids a slot that was granted before', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xy', 0)
    const [x] = await stage.hand(0)
    await stage.gate(x!, 0)
    stage.isSilent = true
    await stage.backend.quarantine(0, at(-600))
    await stage.claim(-600)
    // The answer was lost, and it asks again.
    expect(await stage.gate(x!, -599)).toMatchObject({ kind: 'granted', startAt: at(-599) })
  })

  it('before a start is told, which still counts in the old time, holds the line up for one interval', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('xy', 0)
    const [x] = await stage.hand(0)
    await stage.gate(x!, 0)
    stage.isSilent = true
    await stage.backend.quarantine(0, at(-600))
    await stage.claim(-600)
    expect(await stage.backend.start(0, [{ ...x!, startedAt: at(0.1) }], at(-599.9))).toEqual([true])
    const starts: number[] = []
    for (let tenth = 1; tenth < 30 && starts.length === 0; tenth++) {
      if ((await slotAt(stage, -600 + tenth / 10)) !== undefined) starts.push(tenth)
    }
    expect(starts).toEqual([expect.toSatisfy((tenth: number) => tenth >= 8 && tenth <= 16)])
  })
})

describe('a clock that jumps forward before a start is told', () => {
  it.each(['start', 'finish'] as const)(
    'keeps the next start away from when the %s was told',
    async (verb) => {
      const stage = await RedisStage.open('9, 5/s')
      await stage.lineUp('xy', 0)
      const [x] = await stage.hand(0)
      await stage.gate(x!, 0)
      // Another process has seen the jump; the worker of `x` has not, and starts it a moment later.
      await stage.backend.quarantine(0, at(100))
      if (verb === 'start') await stage.backend.start(0, [{ ...x!, startedAt: at(0.15) }], at(100.15))
      else await stage.backend.finish(0, [{ ...x!, startedAt: at(0.15), outcome: COMPLETED }], at(100.15))
      expect(await slotAt(stage, 100.3)).toBeGreaterThanOrEqual(at(100.345))
    },
  )
})

describe('after a jump of the clock', () => {
  it('one bucket that is not ours keeps no other from starting', async () => {
    const stage = await RedisStage.open('9, 1/s')
    await stage.lineUp('p', 0, { key: 'bad' })
    await stage.lineUp('q', 0, { key: 'good' })
    await stage.redis.set(`${stage.tag}:retry:1`, 'somebody else’s')
    await stage.backend.quarantine(0, at(3))
    expect((await stage.hand(4)).map(({ id }) => id)).toEqual(['q'])
  })
})

describe('small steps of the clock forward', () => {
  it('add up where one process tells of several, also within seconds', async () => {
    const stage = await RedisStage.open('9, 1 per 10 seconds')
    await stage.lineUp('xy', 0)
    await stage.run(0)
    for (const seconds of [3, 6]) await stage.backend.quarantine(0, at(seconds), 'step', STEP / 2)
    expect(await slotAt(stage, 10)).toBe(at(10.2))
  })

  it('count once where several processes tell of the same', async () => {
    const prefix = uniquePrefix()
    const stage = await RedisStage.open('9, 1 per 10 seconds', { prefix })
    const other = await RedisStage.open('9, 1 per 10 seconds', { prefix })
    await stage.lineUp('xy', 0)
    await stage.run(0)
    await stage.backend.quarantine(0, at(3), 'step', STEP / 2)
    await other.backend.quarantine(0, at(3.5), 'step', STEP / 2 + 1_000)
    await other.backend.quarantine(0, at(6), 'step', STEP / 2)
    await stage.backend.quarantine(0, at(6.5), 'step', STEP / 2)
    expect(await slotAt(stage, 10)).toBe(at(10.201))
  })

  it('hold a start up by those alone that came after the one before', async () => {
    const stage = await RedisStage.open('9, 1 per 10 seconds')
    await stage.lineUp('xyz', 0)
    await stage.run(0)
    await stage.backend.quarantine(0, at(5), 'step', STEP)
    const [y] = await stage.hand(10, 250)
    expect(await stage.gate(y!, 10)).toMatchObject({ kind: 'granted', startAt: at(10.2) })
    await stage.start(y!, 10.2)
    await stage.backend.quarantine(0, at(15), 'step', STEP)
    expect(await slotAt(stage, 20.2)).toBe(at(20.4))
  })

  it('do not let a bucket be forgotten too early', async () => {
    const stage = await RedisStage.open('9, 1 per 10 seconds')
    await stage.lineUp('x', 0)
    await stage.finish(await stage.run(0), COMPLETED, 1)
    await stage.backend.quarantine(0, at(5), 'step', STEP)
    await stage.claim(10.01)
    await stage.lineUp('y', 10.02)
    expect(await slotAt(stage, 10.02)).toBe(at(10.2))
  })

  it('that are many have every bucket wait as after a jump', async () => {
    const stage = await RedisStage.open('9, 1 per 10 seconds')
    await stage.lineUp('xy', 0)
    await stage.run(0)
    for (let n = 1; n <= 17; n++) await stage.backend.quarantine(0, at(n / 2), 'step', 10_000)
    expect(await slotAt(stage, 18.2)).toBeUndefined()
    expect(await slotAt(stage, 18.5)).toBe(at(18.5))
  })
})
