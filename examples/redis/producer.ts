// Enqueues a burst on Redis: npx tsx examples/redis/producer.ts
import { Shaper } from 'velvet-rope'
import { options } from './limits.ts'

await using shaper = new Shaper('invoices', options)

const tenants = ['acme', 'globex']
const requests = tenants.flatMap((key) =>
  Array.from({ length: 8 }, (_, n) => ({ key, data: { invoice: n + 1 } })),
)
const admissions = await shaper.enqueueMany(requests)

for (const [n, admission] of admissions.entries()) {
  const { key, data } = requests[n]!
  const answer = admission.accepted
    ? `number ${admission.position} in its line, departs in ${(admission.waitMs / 1000).toFixed(2)} s`
    : `rejected, may come back in ${(admission.retryAfterMs / 1000).toFixed(2)} s`
  console.log(`${key} invoice ${data.invoice}: ${answer}`)
}
