import { expect, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import type { GateAnswer } from '../../src/redis/verbs/gate.ts'
import type { HandedJob } from '../../src/redis/verbs/handed-job.ts'
import { at, request, TURN_CALLER } from '../support/backend-driver.ts'
import { BACK, RedisStage } from './redis-stage.ts'

// What would make one script long is left to the next call.

const BUCKETS = 20
const WINDOW = 16
const LEASE = SECOND
const key = (bucket: number) => `tenant/${bucket}`

/** Of each bucket 16 jobs are handed over; `j0` to `j19` are their heads. */
async function handMany(stage: RedisStage): Promise<HandedJob[]> {
  const asked = Array.from({ length: BUCKETS * WINDOW }, (_, index) =>
    request(`j${index}`, { key: key(index % BUCKETS) }),
  )
  await stage.backend.verbs.admitMany(asked, at(0))
  const handed: HandedJob[] = []
  while (handed.length < asked.length) {
    const { jobs } = await stage.claim(1, { lookAhead: WINDOW * SECOND, lease: LEASE })
    expect(jobs.length).toBeGreaterThan(0)
    handed.push(...jobs)
  }
  return handed
}

const headsOf = (handed: readonly HandedJob[]) =>
  handed.filter(({ id }) => Number(id.slice(1)) < BUCKETS).map(({ id, epoch }) => ({ id, epoch }))

/** All wait in their lines again, in the order in which they were admitted. */
async function expectAllBack(stage: RedisStage): Promise<void> {
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    const line = await stage.views.line(key(bucket), WINDOW, at(2))
    expect(line?.jobs.map(({ id }) => id)).toEqual(
      Array.from({ length: WINDOW }, (_, round) => `j${round * BUCKETS + bucket}`),
    )
  }
  expect(await stage.views.audit()).toMatchObject({ waiting: BUCKETS * WINDOW, handed: 0 })
  await stage.balances()
}

test('a gate that sends many jobs back lets the others ask again', async () => {
  const stage = await RedisStage.open('100, 1/s', { openedAt: at(0) })
  const heads = headsOf(await handMany(stage))
  for (let bucket = 0; bucket < BUCKETS; bucket++) await stage.backend.verbs.pause(key(bucket), at(1))
  const ask = async (jobs: readonly HandedJob[]): Promise<readonly GateAnswer[]> => {
    const named = { worker: 'w1', lead: 0, error: 0, lease: LEASE }
    return (
      await stage.backend.verbs.gate(
        0,
        jobs.map((job) => ({ ...job, ...named })),
        at(1),
      )
    ).answers
  }
  const first = (await ask(heads)).map(({ kind }) => kind)
  expect(new Set(first)).toEqual(new Set(['returned', 'wait']))
  let left = heads.filter((_, index) => first[index] === 'wait')
  while (left.length > 0) {
    const answers = await ask(left)
    expect(answers[0]).toEqual({ kind: 'returned' })
    left = left.filter((_, index) => answers[index]!.kind === 'wait')
  }
  await expectAllBack(stage)
})

test('many reports that send many jobs back are all answered', async () => {
  const stage = await RedisStage.open('100, 1/s', { openedAt: at(0) })
  const reports = headsOf(await handMany(stage)).map((job) => ({ ...job, outcome: BACK }))
  const answers = await stage.backend.verbs.finish(0, reports, at(1))
  expect(answers).toEqual(reports.map(() => ({ isMine: true, at: at(1) })))
  await expectAllBack(stage)
})

test('leases that end together come back in several sweeps', async () => {
  const stage = await RedisStage.open('100, 1/s', { openedAt: at(0) })
  await handMany(stage)
  await stage.backend.verbs.renew(0, [], 0, at(2))
  const sweeps: number[] = []
  for (let more = true; more; more = sweeps.at(-1)! > 0) sweeps.push((await stage.recover(2.5)).length)
  expect(sweeps.length).toBeGreaterThan(2)
  await expectAllBack(stage)
})

test('many refusals for which many jobs are looked at have the verdicts that each has alone', async () => {
  const stage = await RedisStage.open('60, 1/s', { openedAt: at(0) })
  const fill = Array.from({ length: BUCKETS * 25 }, (_, index) =>
    request(`j${index}`, { key: key(index % BUCKETS), cost: 2 }),
  )
  await stage.backend.verbs.admitMany(fill, at(0))
  // Some fit, and most do not.
  const asked = Array.from({ length: 60 }, (_, index) =>
    request(`n${index}`, { key: key(index % BUCKETS), cost: [10, 50, 5][index % 3]! }),
  )
  const together = await stage.backend.verbs.admitMany(asked, at(1))
  const alone = await RedisStage.open('60, 1/s', { openedAt: at(0) })
  await alone.backend.verbs.admitMany(fill, at(0))
  for (const [index, one] of asked.entries())
    expect(together[index]).toEqual(await alone.backend.verbs.admit(one, at(1)))
  expect(new Set(together.map(({ admission }) => admission.accepted))).toEqual(new Set([true, false]))
})

test('turns and jobs share a claim, and the claims after it hand over the rest', async () => {
  const stage = await RedisStage.open('100, 1/s', { openedAt: at(0) })
  const turns = Array.from({ length: 120 }, (_, n) =>
    request(`~${TURN_CALLER}~${n}`, { key: `turn/${n}`, isTurn: true }),
  )
  const jobs = Array.from({ length: 120 }, (_, n) => request(`j${n}`, { key: `job/${n}` }))
  await stage.backend.verbs.admitMany([...turns, ...jobs], at(0))
  const counts: number[] = []
  for (let n = 0; n < 3; n++) counts.push((await stage.claim(1)).jobs.length)
  expect(counts).toEqual([50, 50, 20])
  const { handed, waiting } = await stage.views.audit()
  expect({ handed, waiting }).toEqual({ handed: 240, waiting: 0 })
})
