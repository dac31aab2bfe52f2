import { expect, test } from 'vitest'
import { aJob, aPlan } from '../judge/planted.ts'
import type { Plan } from '../plan/plan.ts'
import { shrink } from './shrink.ts'

const worker = { at: 0, concurrency: 100, lease: 10_000, scheduler: false }
const plan = aPlan({
  jobs: [aJob('a'), aJob('b'), aJob('c')],
  workers: [worker, { ...worker, scheduler: true }, { ...worker, at: 5 }],
})

test('a plan is made smaller as long as it fails', async () => {
  const fails = async ({ jobs }: Plan) => jobs.some(({ id }) => id === 'b')
  const smallest = await shrink(plan, fails, 100)
  expect(smallest.jobs.map(({ id }) => id)).toEqual(['b'])
})

test('a smaller plan still has a process that schedules, also where every plan fails', async () => {
  const { jobs, workers } = await shrink(plan, async () => true, 100)
  expect(jobs).toEqual([])
  expect(workers.some(({ scheduler }) => scheduler)).toBe(true)
})
