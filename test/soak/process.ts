import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { isVelvetRopeError, Shaper } from '../../src/index.ts'
import { HistoryFile } from '../support/campaign/history-file.ts'
import { hostNow } from '../support/campaign/host-time.ts'
import { recordShaper } from '../support/campaign/record-shaper.ts'
import { watchStoreClock } from '../support/campaign/store-clock.ts'
import type { SoakOrder, SoakPlan } from './plan.ts'
import { sampleProcess } from './sample-process.ts'

// One process of a soak: lines up jobs, works on them, or only answers questions.
const plan: SoakPlan = JSON.parse(process.argv[2]!)
const file = new HistoryFile(plan.file)
await watchStoreClock(plan.address, file)
const shaper = new Shaper<number>('soak', {
  limits: { '*': plan.limit },
  connection: plan.address,
  prefix: plan.prefix,
  // Beyond that number they are to be forgotten by the time at which the store is looked at.
  jobDefaults: { keepFinished: plan.keepFinished, keepFinishedMs: 10_000 },
})
recordShaper(shaper, file)
await shaper.ready()

const TAKES_MS = 20
const FAILS_EVERY = 17
let rests = plan.role !== 'producer'

async function work(): Promise<void> {
  shaper.work(
    async ({ id, key, cost, attempt, data, admittedAt, signal }) => {
      const at = hostNow()
      const event = { type: 'start', at, id, key, cost, attempt } as const
      file.write({ kind: 'event', clock: 'host', event, admittedAt: admittedAt * 1_000 })
      if (isVelvetRopeError(signal.reason, 'lease-lost')) file.write({ kind: 'late', at, id })
      signal.throwIfAborted()
      await sleep(TAKES_MS)
      file.write({ kind: 'settled', at: hostNow(), id, attempt })
      if (data % FAILS_EVERY === 0 && attempt === 1) throw new Error('as planned')
    },
    { concurrency: 30, leaseMs: 5_000 },
  )
}

/** Lines up jobs of each key at their rate, whatever became of those before. */
async function produce(): Promise<void> {
  for (let n = 1; ; n++) {
    await sleep(1_000 / plan.perSecond)
    if (rests) continue
    for (const key of plan.keys) void enqueue(key, n)
  }
}

/** Asks until there is an answer; without one it asks again under the same id. */
async function enqueue(key: string, n: number): Promise<void> {
  const options = {
    // As long at the end as at the beginning: ids take room in Redis.
    id: `${plan.name}-${key.replaceAll('/', '_')}-${`${n}`.padStart(6, '0')}`,
    attempts: 2,
    backoff: { type: 'fixed', delayMs: 50 },
  } as const
  for (;;) {
    try {
      const admission = await shaper.enqueue(key, n, options)
      if (!admission.accepted || admission.replayed !== true) return
      const event = {
        type: 'answer',
        at: hostNow(),
        id: admission.id,
        key,
        cost: 1,
        accepted: true,
        departsAt: admission.departsAt * 1_000,
      } as const
      return file.write({ kind: 'event', clock: 'host', event, replayed: true })
    } catch (error) {
      if (!isVelvetRopeError(error, 'backend-unavailable')) throw error
      await sleep(200)
    }
  }
}

async function carryOut(order: SoakOrder): Promise<unknown> {
  switch (order.do) {
    case 'sample':
      return sampleProcess()
    case 'audit':
      return shaper.audit()
    case 'job':
      return shaper.job(order.id)
    case 'limit':
      return shaper.limits.set('*', order.limit)
    case 'freeze':
      return shaper.freeze(order.key, order.forMs)
    case 'rest':
    case 'go on':
      rests = order.do === 'rest'
      return undefined
    case 'close':
      return shaper.close()
  }
}

if (plan.role === 'worker') await work()
if (plan.role === 'producer') void produce()
if (plan.role !== 'worker') {
  shaper.on('limit', ({ at, limit }) => {
    if (limit === undefined || plan.role !== 'operator') return
    for (const key of plan.keys) {
      file.write({ kind: 'event', clock: 'store', event: { type: 'limit', at: at * 1_000, key, limit } })
    }
  })
}
console.log(JSON.stringify({ answer: 'ready' }))
for await (const line of createInterface({ input: process.stdin })) {
  const order: SoakOrder = JSON.parse(line)
  const reply = await carryOut(order).then(
    (answer) => ({ answer: answer ?? null }),
    (error: unknown) => ({ failure: String(error) }),
  )
  console.log(JSON.stringify(reply))
  if (order.do === 'close') process.exit()
}
// The parent is gone.
process.exit(1)
