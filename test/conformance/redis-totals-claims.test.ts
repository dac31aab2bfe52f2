import { expect, onTestFinished, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import { at, request } from '../support/backend-driver.ts'
import { claim, openRedisBackend, startHanded } from '../support/redis-driver.ts'

/** Ten children of a total with a job each, the first of which has departed at the second 0 and ended. */
async function tenChildren() {
  const backend = await openRedisBackend({ limits: { 'a/*': '9, 50/s', 'a/': '900, 10/s' }, openedAt: at(0) })
  onTestFinished(() => backend.wakes.stop())
  const keys = Array.from({ length: 10 }, (_, n) => `a/${n}`)
  await backend.verbs.admitMany(
    keys.map((key) => request(key, { key })),
    at(0),
  )
  return backend
}

test('a claim says when the next job of a family is to be handed over, behind those that it handed over itself', async () => {
  const { verbs } = await tenChildren()
  const { jobs, nextClaim } = await claim(verbs, at(0), 250_000, 200)
  expect(jobs).toHaveLength(3)
  expect(nextClaim).toBe(at(0.3) - 250_000)
  for (const job of jobs) await verbs.gate(0, [{ ...job, worker: 'test', lead: 0, lease: SECOND }], at(0))
  expect(await claim(verbs, at(0.04), 250_000, 200)).toMatchObject({ jobs: [], nextClaim })
  expect((await claim(verbs, at(0.05), 250_000, 200)).jobs).toHaveLength(1)
})

test('a child without work is looked at again when virtual time may have passed its tag, not all the time', async () => {
  const { verbs } = await tenChildren()
  const [job] = (await claim(verbs, at(0), 0, 200)).jobs
  const { epoch } = job!
  await startHanded(verbs, job!, at(0))
  await verbs.finish(
    0,
    [{ id: job!.id, epoch, outcome: { kind: 'completed', result: undefined } }],
    at(0.001),
  )
  // Its own pace is over after 20 ms; its tag is a round ahead of the nine others.
  const { nextForgetting } = await claim(verbs, at(0.03), 0, 200)
  expect(nextForgetting - at(0.5)).toBeGreaterThan(0.5 * SECOND)
  expect(nextForgetting - at(0.5)).toBeLessThan(1.1 * SECOND)
})
