import { describe, expect, test } from 'vitest'
import { expectEmpty, GateStage } from './gate-stage.ts'

/** How far ahead slots were asked for, call by call; microseconds. */
function leadsOf({ store }: GateStage): number[] {
  const leads: number[] = []
  const { gate } = store
  store.gate = (shard, requests) => {
    leads.push(...requests.map(({ lead }) => lead))
    return gate.call(store, shard, requests)
  }
  return leads
}

/** The clock of the store was measured while answers took a tenth of a millisecond. */
async function measured(): Promise<GateStage> {
  const stage = new GateStage()
  stage.store.trip = () => [100, 100]
  return stage.open()
}

// Slots are missed that are used more than 20 ms late.
describe('answers that take longer than a slot may be late', () => {
  test('a job starts all the same', async () => {
    const stage = await measured()
    stage.store.trip = () => [100, 45_000]
    const leads = leadsOf(stage)
    const done = stage.take(stage.store.hand('a', 1))
    await stage.pass(1_000)
    expect(stage.ids()).toEqual(['a1'])
    // Two answers that come too late show how long the next one will take.
    expect(stage.missed).toEqual(['a1', 'a1'])
    expect(leads.slice(0, 2)).toEqual([0, 0])
    expect(leads[2]).toBeGreaterThan(44_000)
    expect(leads[2]).toBeLessThan(46_000)
    expect(done).toEqual(['a1'])
    expectEmpty(stage)
  })

  test('also where no two take the same time', async () => {
    const stage = await measured()
    let calls = 0
    stage.store.trip = () => [100, 30_000 + 15_000 * (calls++ % 4)]
    stage.take(stage.store.hand('a', 1))
    await stage.pass(1_000)
    expect(stage.ids()).toEqual(['a1'])
    expectEmpty(stage)
  })

  test('one that comes late by chance keeps nothing away for longer', async () => {
    const stage = await measured()
    const trips = [[100, 45_000] as const]
    stage.store.trip = () => trips.shift() ?? [100, 100]
    const leads = leadsOf(stage)
    stage.take(stage.store.hand('a', 1))
    await stage.pass(100)
    expect(stage.ids()).toEqual(['a1'])
    expect(leads).toEqual([0, 0])
    expectEmpty(stage)
  })

  test('no slot is asked for more than 125 ms ahead, however long they take', async () => {
    const stage = await measured()
    const leads = leadsOf(stage)
    stage.store.trip = () => [100, 400_000]
    stage.take(stage.store.hand('a', 1))
    await stage.pass(2_000)
    expect(stage.ids()).toEqual([])
    expect(Math.max(...leads)).toBe(125_000)
    stage.store.trip = () => [100, 100]
    await stage.pass(1_000)
    expect(stage.ids()).toEqual(['a1'])
    expectEmpty(stage)
  })
})
