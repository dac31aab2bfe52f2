import { describe, expect, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { at } from '../support/backend-driver.ts'
import { RedisStage } from './redis-stage.ts'

/** What one call may forget. */
const MOST_PER_CALL = 200
/** Seconds: by then all that ended at the beginning is old. */
const LATER = 60

/** Jobs of three first segments that ended at the beginning, more of each than one call may forget. */
async function ended(each: number, most = 1_000_000): Promise<RedisStage> {
  const stage = await RedisStage.open('1000, 1/s', { keepFinished: { jobs: 10, time: 20 * SECOND, most } })
  for (const key of ['a', 'b/1', 'c/2']) {
    for (let n = 0; n < each; n++) {
      const id = `${key[0]}${n}`
      await stage.admit(id, 0, { key })
      await stage.backend.verbs.cancel(id, at(0))
    }
  }
  return stage
}

const left = (stage: RedisStage) => stage.redis.zcard(`${stage.tag}:ended`)

describe('forgetting ended jobs', () => {
  test('takes 200 in a call, however many segments have old ones', async () => {
    const stage = await ended(300)
    const counts = [await left(stage)]
    for (let call = 0; call < 6; call++) {
      await stage.claim(LATER + call)
      counts.push(await left(stage))
    }
    const taken = counts.slice(1).map((count, index) => counts[index]! - count)
    expect(Math.max(...taken)).toBeLessThanOrEqual(MOST_PER_CALL)
    // The last ten of each segment.
    expect(counts.at(-1)).toBe(30)
  })

  test('goes on in slices where segments have equally many', async () => {
    const stage = await ended(100, 60)
    for (let call = 0; call < 6; call++) await stage.claim(11 + call / 10)
    expect(await left(stage)).toBe(60)
  })

  test.each([
    ['text', (stage: RedisStage, list: string) => stage.redis.set(list, 'not ours')],
    ['a list of something else', (stage: RedisStage, list: string) => stage.redis.rpush(list, 'not ours')],
    ['nothing', async () => undefined],
  ])('gives a list up that was replaced by %s, and the line goes on', async (_, replace) => {
    const stage = await ended(15)
    const [list] = await stage.redis.keys(`${stage.tag}:kept:*`)
    await stage.redis.del(list!)
    await replace(stage, list!)
    await stage.admit('new', LATER, { key: 'd' })
    expect((await stage.claim(LATER)).jobs).toMatchObject([{ id: 'new' }])
    // The others are forgotten as before: ten of each are left, and the fifteen of the list that is gone.
    expect(await left(stage)).toBe(35)
    expect((await stage.claim(LATER + 1)).jobs).toEqual([])
  })

  test('keeps what ended before the clock was set back no longer than what ends after it', async () => {
    const stage = await ended(15)
    await stage.claim(0)
    stage.isSilent = true
    await stage.claim(-600)
    expect(await left(stage)).toBe(45)
    // Twenty seconds after the end, of which none had passed when the clock was set back.
    for (let second = 5; second <= 15; second += 5) await stage.claim(-600 + second)
    expect(await left(stage)).toBe(45)
    await stage.claim(-579)
    expect(await left(stage)).toBe(30)
  })

  test('keeps what ended after the clock was set back for as long as ever', async () => {
    const stage = await ended(1)
    await stage.claim(0)
    stage.isSilent = true
    await stage.claim(-600)
    for (let n = 0; n < 15; n++) {
      await stage.admit(`late-${n}`, -600, { key: 'd' })
      await stage.backend.verbs.cancel(`late-${n}`, at(-600))
    }
    await stage.claim(-581)
    expect(await left(stage)).toBe(18)
    await stage.claim(-579)
    expect(await left(stage)).toBe(13)
  })

  test.each([
    ['is cancelled', (stage: RedisStage, id: string) => stage.backend.verbs.cancel(id, at(-599))],
    ['expires', (stage: RedisStage) => stage.backend.verbs.expire(0, at(-599))],
  ])('keeps as long what %s before any call has shown that the clock was set back', async (_, end) => {
    const stage = await ended(1)
    await stage.claim(0)
    stage.isSilent = true
    for (let n = 0; n < 15; n++) {
      await stage.admit(`late-${n}`, -600, { key: `d/${n}`, deadline: at(-599.5) })
    }
    for (let n = 0; n < 15; n++) await end(stage, `late-${n}`)
    await stage.claim(-581)
    expect(await left(stage)).toBe(18)
    await stage.claim(-578)
    expect(await left(stage)).toBe(13)
  })
})
