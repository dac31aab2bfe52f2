import { Shaper } from '../../../src/index.ts'

const KEYS = 1_000_000
const BATCH = 1_000

function heap(): number {
  if (gc === undefined) throw new Error('start with --expose-gc')
  gc()
  gc()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const shaper = new Shaper('million', { limits: { '*': '5, 1/s', tenant: '5, every 4s' } })
let starts = 0
shaper.work(() => void starts++)

/** Lets every key depart once; resolves when the last bucket is forgotten, with the number that lived at the end. */
async function useOnce(prefix: string, keys: number): Promise<number> {
  for (let n = 0; n < keys; n += BATCH) {
    const requests = Array.from({ length: BATCH }, (_, index) => ({
      key: `${prefix}/${n + index}`,
      data: index,
    }))
    await shaper.enqueueMany(requests)
    await new Promise(setImmediate)
  }
  const { total } = await shaper.buckets({ prefix, limit: 1 })
  while ((await shaper.inspect(`${prefix}/${keys - 1}`)) !== undefined) {
    await new Promise((resolve) => void setTimeout(resolve, 100))
  }
  return total
}

// What the process needs once, whatever the number of keys: compiled code, and the jobs that ended last.
await useOnce('warm', 20_000)
const before = heap()
const liveBuckets = await useOnce('tenant', KEYS)
const growth = heap() - before
const { admitted, ended } = await shaper.audit()
const { total } = await shaper.buckets()
const resources = process.getActiveResourcesInfo()
console.log(
  JSON.stringify({
    starts,
    admitted,
    ended,
    liveBuckets,
    total,
    growth,
    resources,
    seconds: process.uptime(),
  }),
)
