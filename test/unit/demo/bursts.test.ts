import { describe, expect, it } from 'vitest'
import { ACCOUNTS } from '../../../src/demo/account.ts'
import { CYCLE, planBursts } from '../../../src/demo/bursts.ts'

describe('the bursts', () => {
  it('are the same each time, in the order of time', () => {
    const plan = planBursts(ACCOUNTS, 1)
    expect(planBursts(ACCOUNTS, 1)).toEqual(plan)
    expect(plan.map(({ at }) => at)).toEqual(plan.map(({ at }) => at).sort((a, b) => a - b))
  })

  it.each(ACCOUNTS)('of $key have the stated number of jobs, and one last job', (account) => {
    const jobs = planBursts(ACCOUNTS, 2).filter((job) => job.account === account)
    expect(jobs).toHaveLength(2 * account.bursts.reduce((sum, [, count]) => sum + count, 0))
    expect(jobs.filter(({ isLast }) => isLast)).toEqual([jobs.at(-1)])
    expect(jobs.at(-1)!.at).toBeLessThan(2 * CYCLE)
  })

  it.each(ACCOUNTS)('of $key overfill the line', ({ limit, bursts }) => {
    const jobs = bursts.reduce((sum, [, count]) => sum + count, 0)
    expect(jobs).toBeGreaterThan(limit.capacity + CYCLE / limit.interval)
  })
})
