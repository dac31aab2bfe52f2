import type { Attack } from './attack.ts'
import { call } from './call.ts'

const JOBS = 400_000
const OF_BATCH = 1_000
const CLIENTS = 4

export const deepLine: Attack = {
  name: 'deep-line',
  what: `${CLIENTS} clients of one token look up, explain and cancel jobs at the end of a line of 400,000`,
  heapMb: 1_536,
  setting: () => ({ tokenLimit: '10000000, 1000000/s' }),
  async prepare(attacker) {
    for (let first = 0; first < JOBS; first += OF_BATCH) {
      const jobs = Array.from({ length: OF_BATCH }, (_, n) => ({
        key: 'attacker',
        data: 0,
        id: `j${first + n}`,
      }))
      const { status } = await call(attacker, 'POST', '/v1/jobs', { jobs })
      // A batch that meets a busy moment is sent again; what was accepted keeps its place.
      if (status !== 202) first -= OF_BATCH
    }
  },
  async run(target) {
    const client = async (first: number) => {
      for (let index = JOBS - 1 - first; index > 0; index -= CLIENTS) {
        const path = `/v1/jobs/j${index}`
        await call(target, 'GET', path)
        await call(target, 'GET', `${path}/explanation`)
        await call(target, 'DELETE', path)
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, (_, first) => client(first)))
  },
}
