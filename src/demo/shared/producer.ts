import type { Shaper } from '../../shaper/shaper.ts'
import { type PlannedJob, planBursts } from '../bursts.ts'
import { playOffers } from '../offers.ts'
import { report, runChild } from './child.ts'

// A separate process that offers its share of the bursts.
let shaper: Shaper
let plan: readonly PlannedJob[] = []

runChild({
  async prepare(opened, { accounts, cycles, share, of }) {
    shaper = opened
      .on('admitted', ({ key, at }) => report({ say: 'admitted', key, at }))
      .on('rejected', ({ key, at, retryAfterMs }) => report({ say: 'rejected', key, at, retryAfterMs }))
    plan = planBursts(accounts, cycles).filter((_, index) => index % of === share)
    // The first call of a process includes its warm-up.
    for (const { key } of accounts) await shaper.forecast(key)
  },

  async start() {
    await playOffers(plan, {
      comeBacks: 3,
      offer: async (key) => {
        const admission = await shaper.enqueue(key, { text: 'hello' })
        return admission.accepted ? undefined : admission.retryAfterMs
      },
      onCameBack: (key) => report({ say: 'came-back', key }),
      onError: (message) => report({ say: 'error', message }),
    })
    report({ say: 'sent' })
  },
})
