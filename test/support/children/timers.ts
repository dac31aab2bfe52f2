import { createHook } from 'node:async_hooks'
import { Shaper } from '../../../src/index.ts'

const KEYS = 10_000

/** Timers of this process, also those that do not keep it alive: Node's own list leaves them out. */
const timers = new Set<number>()
createHook({
  init: (id, type) => void (type === 'Timeout' && timers.add(id)),
  destroy: (id) => void timers.delete(id),
}).enable()

const count = async () => {
  // What was destroyed is reported a turn later.
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
  const active = process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length
  return { timers: timers.size, active }
}
const sleep = (ms: number) => new Promise((resolve) => void setTimeout(resolve, ms))

const before = await count()
const shaper = new Shaper('timers', { limits: { '*': '5, every 2s', frozen: '5, 1/s' } })
const idle = await count()
let release = () => {}
const released = new Promise<void>((resolve) => {
  release = resolve
})
const requests = Array.from({ length: 2 * KEYS }, (_, n) => ({
  key: `${n % KEYS}`,
  data: n,
  deadlineMs: 60_000,
}))
await shaper.enqueueMany(requests)
const waiting = await count()
shaper.work((job) => (Number(job.key) < 1_000 ? released : undefined), { concurrency: KEYS })
while ((await shaper.audit()).waiting > KEYS) await sleep(10)
const running = await count()
release()
while ((await shaper.audit()).ended < 2 * KEYS) await sleep(10)
const ended = await count()
while ((await shaper.buckets({ limit: 1 })).total > 0) await sleep(50)
const after = await count()
console.log(JSON.stringify({ before, idle, waiting, running, ended, after }))
