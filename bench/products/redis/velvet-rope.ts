import { Shaper } from '../../../dist/src/index.js'
import type { Payload } from '../product.ts'
import { limitOf } from '../velvet-rope.ts'
import type { RedisProduct, Setup } from './product.ts'

export const velvetRope: RedisProduct = {
  name: 'velvet-rope',
  setting: (pace) => `limit '${limitOf(pace)}'`,

  async produce(setup) {
    const shaper = await openShaper(setup)
    return {
      async enqueue(key, data) {
        const admission = await shaper.enqueue(key, data)
        if (!admission.accepted) throw new Error(`${key} was rejected: ${admission.reason}`)
      },
      async enqueueMany(jobs) {
        const admissions = await shaper.enqueueMany(jobs.map(([key, data]) => ({ key, data })))
        const refused = admissions.find(({ accepted }) => !accepted)
        if (refused !== undefined) throw new Error(`${refused.key} was rejected`)
      },
      async liveBuckets() {
        return (await shaper.buckets({ limit: 1 })).total
      },
    }
  },

  async work(setup, start) {
    const shaper = await openShaper(setup)
    shaper.work((job) => start(job.key, job.data), { concurrency: 100 })
  },
}

/** Producer and worker have a shaper each, as they would in two processes. */
async function openShaper({ socket, pace }: Setup): Promise<Shaper<Payload, void>> {
  const shaper = new Shaper<Payload, void>('bench', {
    limits: { '*': limitOf(pace) },
    connection: `unix://${socket}`,
  })
  await shaper.ready()
  return shaper
}
