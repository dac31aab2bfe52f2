import { expect, test } from 'vitest'
import { openStore } from '../open-store.ts'
import type { Plan } from '../plan/plan.ts'
import { runPlan } from '../run-plan.ts'
import type { StoreHost } from '../world/server.ts'
import { aJob, aPlan, SECOND } from './planted.ts'

const quotas = [{ amount: 2, window: 60_000 }]
const keys = [{ key: 'k', capacity: 10, rate: { count: 1, per: 1_000 }, quotas }]
/** Nothing must remain of it. */
const forgotten = aPlan({ keys, jobs: [aJob('a')], keepFinished: 0 })

/** Opens a store that holds from the begin on what these commands write. */
function holding(...commands: readonly string[]) {
  return (host: StoreHost) => {
    const store = openStore(host)
    for (const words of commands.map((command) => command.split(' '))) {
      const parts = words.map((word) => `$${word.length}\r\n${word}\r\n`)
      store.connect().receive(Buffer.from(`*${words.length}\r\n${parts.join('')}`))
    }
    return store
  }
}

/** What is left in the store at the end of a run, and when that was found; seconds. */
async function leftAfter(plan: Plan, open = openStore) {
  const { failures, lasted } = await runPlan(plan, open)
  return { left: failures.map(({ law, message }) => `${law}: ${message}`), at: lasted / SECOND }
}

test('a bucket stays as long as its quota counts, and no longer', async () => {
  const { left, at } = await leftAfter(forgotten)
  expect(left).toEqual([])
  expect(at).toBeGreaterThan(60)
  expect(at).toBeLessThan(70)
})

test('what stays for longer than a quota counts is left behind', async () => {
  const { left, at } = await leftAfter(forgotten, holding('SADD {vr:sim:0}:other a'))
  expect(left).toEqual(['L7: the store still holds {vr:sim:0}:other'])
  expect(at).toBeLessThan(110)
})

test('what BullMQ suspects to be stalled may stay for as long as its clock was set back, since it does not look before', async () => {
  const setBack = aPlan({
    jobs: [aJob('a')],
    faults: [{ kind: 'step', at: 500, by: -86_400_000, until: 500 }],
  })
  const suspects = 'SADD {vr:sim:0}:rope:stalled x'
  const looked = (ms: number) => `SET {vr:sim:0}:rope:stalled-check 1 PX ${ms}`
  expect((await leftAfter(setBack, holding(suspects, looked(86_400_000)))).left).toEqual([])
  const other = holding('SADD {vr:sim:0}:rope:other x', looked(86_400_000))
  expect((await leftAfter(setBack, other)).left).toEqual([
    'leak: the store still holds {vr:sim:0}:rope:other',
  ])
})

test('a lock of BullMQ may stay for as long as the clock of Redis was set back, and no other', async () => {
  const lock = '{vr:sim:0}:rope:a_e1:lock'
  const day = holding(`SET ${lock} x PX 86400000`)
  const setBack = aPlan({
    jobs: [aJob('a')],
    faults: [{ kind: 'step', at: 500, by: -86_400_000, until: 500 }],
  })
  const leaked = [`leak: the store still holds ${lock}`]
  expect((await leftAfter(setBack, day)).left).toEqual([])
  expect((await leftAfter(aPlan({ jobs: [aJob('a')] }), day)).left).toEqual(leaked)
  expect((await leftAfter(setBack, holding(`SET ${lock} x`))).left).toEqual(leaked)
})
