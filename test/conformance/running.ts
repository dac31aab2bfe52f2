import { expect } from 'vitest'
import { RedisStage } from './redis-stage.ts'

export const FAST = '99, 100/s'

/** A fast bucket whose first job has a slot at second 0, and what follows it. */
export async function running(line: string, limits: Parameters<typeof RedisStage.open>[0] = FAST) {
  const stage = await RedisStage.open(limits)
  await stage.lineUp(line, 0)
  const [first] = await stage.hand(0, 250)
  expect(await stage.gate(first!, 0)).toMatchObject({ kind: 'granted', mayRun: line.length > 1 })
  const { jobs } = await stage.follow(first!.epoch, 0)
  return { stage, first: first!, jobs, following: jobs.map(({ handed }) => handed) }
}
