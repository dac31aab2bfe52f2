import { expect } from 'vitest'
import { HOUR } from '../../src/core/duration.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import type { RedisStage } from './redis-stage.ts'

/** Another server has what the former one had at that time. */
export async function failOver(stage: RedisStage, replica: Readonly<Record<string, string>>): Promise<void> {
  await stage.restore(replica)
  await stage.redis.hset(shardKey(stage.tag, 'meta'), 'run', 'the former master')
}

/** The server is another run of itself: its last writes may be lost. */
export async function restart({ redis, tag }: RedisStage): Promise<void> {
  await redis.hset(shardKey(tag, 'meta'), 'run', 'another')
}

/** A scheduler claims, and hands over no job. */
export async function notice(stage: RedisStage, seconds: number): Promise<void> {
  expect((await stage.claim(seconds, { lookAhead: -HOUR })).jobs).toEqual([])
}

/** Tries each `step` seconds until something departs; answers when, and starts it. */
export async function nextStart(
  stage: RedisStage,
  from: number,
  until: number,
  step = 1,
): Promise<number | undefined> {
  for (let seconds = from; seconds <= until; seconds += step) {
    const [job] = await stage.hand(seconds)
    if (job === undefined || (await stage.gate(job, seconds)).kind !== 'granted') continue
    await stage.start(job, seconds)
    return seconds
  }
  return undefined
}
