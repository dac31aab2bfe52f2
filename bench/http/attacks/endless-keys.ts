import type { Attack } from './attack.ts'
import { call } from './call.ts'

const CLIENTS = 20
/** Bytes of the data of a job, and jobs of a batch: just within the limit of a body. */
const BYTES_OF_JOB = 10_000
const OF_BATCH = 100
/** Long keys fill the heap sooner. */
const LONG = 'x'.repeat(200)

export const endlessKeys: Attack = {
  name: 'endless-keys',
  what: 'one token fills a small heap with jobs, and then pauses, freezes and limits ever new keys',
  heapMb: 100,
  setting: () => ({ scopes: 'admin', tokenLimit: '1000000, 100000/s' }),
  async run(target) {
    const job = { key: 'attacker', data: 'x'.repeat(BYTES_OF_JOB) }
    const jobs = Array.from({ length: OF_BATCH }, () => job)
    while ((await call(target, 'POST', '/v1/jobs', { jobs })).status === 202);
    const client = async (first: number) => {
      for (let index = first; ; index += CLIENTS) {
        const key = `attacker%2F${index}-${LONG}`
        if (index % 3 === 0) await call(target, 'POST', `/v1/buckets/${key}/pause`)
        else if (index % 3 === 1)
          await call(target, 'POST', `/v1/buckets/${key}/freeze`, { forMs: 3_600_000 })
        else await call(target, 'PUT', `/v1/limits/${key}?scope=local`, { limit: '5, 1/s' })
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, (_, first) => client(first)))
  },
}
