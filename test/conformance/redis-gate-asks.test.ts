import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import type { HandedJob } from '../../src/redis/verbs/handed-job.ts'
import { at } from '../support/backend-driver.ts'
import { connect } from '../support/redis-driver.ts'
import { startRedis } from '../support/redis-server.ts'
import { readsDuring } from '../support/script-reads.ts'
import { restart } from './losses.ts'
import { RedisStage } from './redis-stage.ts'

/** Asks the gate for a job again and again, and returns the waits that the gate told it; seconds. */
async function waits(stage: RedisStage, job: HandedJob, from: number, until: number): Promise<number[]> {
  const told: number[] = []
  for (let seconds = from; seconds < until; seconds += told.at(-1)!) {
    const answer = await stage.gate(job, seconds)
    if (answer.kind !== 'wait') break
    told.push((answer.until - at(seconds)) / SECOND)
  }
  return told
}

test('jobs at the gate ask less and less often while the job before them does not start, and soon after it could have', async () => {
  const stage = await RedisStage.open('99, 500/s, 9999/day')
  await stage.lineUp('xyz', 0)
  const [x, y, z] = await stage.hand(0, 250)
  // The worker of `x` is dead.
  const told = await waits(stage, y!, 0, 0.4)
  let seconds = 0
  for (const wait of told) {
    expect(wait).toBeLessThanOrEqual(Math.max(0.001, seconds / 4) + 1e-6)
    seconds += wait
  }
  expect(told.length).toBeGreaterThan(10)
  expect(told.length).toBeLessThan(40)
  // The next wait begins when that job has started.
  await stage.gate(x!, 0.5)
  await stage.start(x!, 0.5)
  expect(await stage.gate(z!, 0.503)).toMatchObject({ kind: 'wait', until: at(0.504) })
})

test('after a restart of Redis, too, jobs behind a dead worker do not ask every millisecond', async () => {
  const stage = await RedisStage.open('99, 500/s, 9999/day')
  await stage.lineUp('xyz', 0)
  await restart(stage)
  const [, y] = await stage.hand(10, 250)
  const told = await waits(stage, y!, 10, 20)
  expect(told.length).toBeGreaterThan(100)
  expect(told.length).toBeLessThan(600)
  // The claim may have come just now.
  expect(Math.max(...told)).toBeLessThanOrEqual(0.02)
})

test('to tell a job to wait behind another, no more is read under quotas than under a pace alone', async () => {
  const server = await startRedis()
  const client = new Redis(server.url)
  onTestFinished(() => client.disconnect())
  const commandsUnder = async (limit: string) => {
    const stage = await RedisStage.open(limit, { connection: connect(server.url), client })
    await stage.lineUp('xyz', 0)
    const [, y] = await stage.hand(0, 250)
    const ask = async () => expect(await stage.gate(y!, 0.01)).toMatchObject({ kind: 'wait' })
    await ask()
    return (await readsDuring(client, ask)).commands
  }
  const commands = await commandsUnder('99, 20/s')
  expect(commands).toBeGreaterThan(10)
  expect(await commandsUnder('99, 20/s, 900/minute, 9000 tokens/minute 9 each, 90 at once')).toBe(commands)
})
