import { setTimeout as pass } from 'node:timers/promises'
import type { Attack } from './attack.ts'
import { call } from './call.ts'
import { allowing } from './third-party.ts'

const KEYS = 100
const PROBES = 40
const LONGEST_MS = 3_000
/** What a job may ask for: in versions without a maximum, and by default. */
const TIMEOUTS_MS = [600_000, 60_000]

export const slowUrls: Attack = {
  name: 'slow-urls',
  what: `one token has jobs of ${KEYS} keys call a server that never answers, with the longest time limit`,
  setting: (thirdParty) => ({ limit: '1000, 100/s', more: allowing(thirdParty) }),
  dataOfVictim: (thirdParty) => ({ method: 'GET', url: `${thirdParty}/fast` }),
  async run(target) {
    const data = { method: 'GET', url: `${target.thirdParty}/slow` }
    for (let index = 0; ; index++) {
      for (const timeoutMs of TIMEOUTS_MS) {
        const job = { data, timeoutMs, attempts: 1 }
        const { status } = await call(target, 'POST', `/v1/buckets/attacker%2F${index % KEYS}/jobs`, job)
        if (status !== 422) break
      }
      await pass(10)
    }
  },
  async probe(victim, thirdParty) {
    const sent: number[] = []
    for (let n = 0; n < PROBES; n++) {
      sent.push(performance.now())
      const data = { method: 'GET', url: `${thirdParty.url}/probe/${n}` }
      await call(victim, 'POST', `/v1/buckets/victim%2F${n}/jobs`, { data })
    }
    await pass(LONGEST_MS)
    const waits = sent
      .flatMap((at, n) => thirdParty.arrivals(`/probe/${n}`).map((arrived) => arrived - at))
      .sort((one, other) => one - other)
    const middle = waits[Math.floor(waits.length / 2)]
    const after = middle === undefined ? '' : `, half of them within ${middle.toFixed(0)} ms`
    return `${waits.length} of ${PROBES} jobs of another token started${after}`
  },
}
