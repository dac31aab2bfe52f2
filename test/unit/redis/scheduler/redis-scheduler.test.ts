import { describe, expect, test } from 'vitest'
import {
  clock,
  errors,
  events,
  handedIds,
  ids,
  MS,
  S,
  scheduler,
  store,
  transport,
  useStage,
} from './scheduler-stage.ts'

useStage()

describe('a pass', () => {
  test('hands over what is due, and says how much it did', async () => {
    store.admit('now')
    store.admit('later', clock.now() + 1 * S)
    expect(await scheduler().runOnce()).toEqual({ handed: 1, recovered: 0, expired: 0, isElected: true })
    expect(transport.handed).toEqual([{ id: 'now', epoch: 1, key: 'k', shard: 0, at: clock.now() }])
  })

  test('asks for a lease of two seconds and the look-ahead', async () => {
    await scheduler({ lookAheadMs: 80 }).runOnce()
    expect(store.claims[0]).toMatchObject({ scheduler: 'a', lookAhead: 80 * MS, lease: 2.08 * S, most: 100 })
  })

  test('claims until a claim comes back with room left', async () => {
    for (const id of ids(450)) store.admit(id)
    expect((await scheduler().runOnce()).handed).toBe(450)
    expect(store.claims.length).toBe(5)
    expect(handedIds()).toEqual(ids(450))
  })

  test('takes back what was not fetched before it hands it over once more', async () => {
    const one = scheduler()
    store.admit('lost')
    await one.runOnce()
    await clock.advance(3 * S)
    expect(await one.runOnce()).toMatchObject({ recovered: 1, handed: 1 })
    expect(events).toEqual(['recovered lost'])
    expect(transport.handed.map(({ epoch }) => epoch)).toEqual([1, 2])
    expect([...transport.queued]).toEqual(['lost_e2'])
  })

  test('takes nothing back because the clock of the store was set forward, until its worker could renew', async () => {
    const one = scheduler()
    await one.runOnce()
    await clock.advance(2 * S)
    await one.runOnce()
    store.leases.set('renewed', { job: { id: 'renewed', epoch: 1 }, end: clock.now() + 1.2 * S })
    store.leases.set('dead', { job: { id: 'dead', epoch: 1 }, end: clock.now() + 1.2 * S })
    store.step = 1.5 * S
    expect(await one.runOnce()).toMatchObject({ recovered: 0 })
    await clock.advance(0.6 * S)
    store.leases.set('renewed', { job: { id: 'renewed', epoch: 1 }, end: clock.now() + 3.5 * S })
    expect(await one.runOnce()).toMatchObject({ recovered: 0 })
    await clock.advance(0.7 * S)
    expect(await one.runOnce()).toMatchObject({ recovered: 1 })
    expect(events).toEqual(['recovered dead'])
  })

  test('lets expire what waited too long', async () => {
    store.deadlines = [{ id: 'old', key: 'k', cost: 1, attempt: 0, at: clock.now() }]
    expect(await scheduler().runOnce()).toMatchObject({ expired: 1 })
    expect(events).toEqual(['expired old'])
  })

  test('asked for twice together is one pass', async () => {
    const one = scheduler()
    expect(one.runOnce()).toBe(one.runOnce())
  })

  test('ends with an error, which is emitted; what was claimed comes back with its lease', async () => {
    const one = scheduler()
    store.admit('job')
    transport.isAway = true
    expect(await one.runOnce()).toMatchObject({ handed: 0, isElected: true })
    expect(errors.splice(0)).toEqual(['the transport is away'])
    transport.isAway = false
    expect((await one.runOnce()).handed).toBe(0)
    await clock.advance(3 * S)
    expect(await one.runOnce()).toMatchObject({ recovered: 1, handed: 1 })
  })
})

describe('between passes', () => {
  test('sleeps until the next thing is due', async () => {
    const due = clock.now() + 3 * S
    store.admit('later', due)
    scheduler().start()
    await clock.advance(2.9 * S)
    expect(handedIds()).toEqual([])
    const asleep = store.claims.length
    expect(asleep).toBeLessThanOrEqual(3)
    await clock.advance(0.2 * S)
    expect(transport.handed[0]).toMatchObject({ id: 'later', at: due })
  })

  test('with nothing to do, it asks once in a second and a half', async () => {
    scheduler().start()
    await clock.advance(60 * S)
    expect(store.claims.length).toBeLessThanOrEqual(41)
  })

  test('is woken by what comes in meanwhile', async () => {
    scheduler().start()
    await clock.advance(1 * S)
    store.admit('new')
    await clock.advance(0)
    expect(handedIds()).toEqual(['new'])
  })

  test('hears what comes in during a pass, when the claim has been decided', async () => {
    const one = scheduler()
    store.meanwhile = () => store.admit('late')
    one.start()
    await clock.advance(6 * MS)
    expect(handedIds()).toEqual(['late'])
  })

  test('hears what comes in during a later pass, while it listens already', async () => {
    scheduler().start()
    await clock.advance(1 * S)
    store.meanwhile = () => store.admit('second')
    store.admit('first')
    await clock.advance(6 * MS)
    expect(handedIds()).toEqual(['first', 'second'])
  })

  test('a lost wake stalls it for a second and a half at the most', async () => {
    scheduler().start()
    await clock.advance(1 * S)
    store.losesMarkers = true
    store.admit('unheard')
    await clock.advance(1.5 * S)
    expect(handedIds()).toEqual(['unheard'])
  })

  test('many wakes make few passes', async () => {
    scheduler().start()
    await clock.advance(1 * S)
    const before = store.claims.length
    for (const id of ids(1_000)) {
      store.admit(id)
      await clock.advance(100)
    }
    await clock.advance(10 * MS)
    expect(handedIds()).toEqual(ids(1_000))
    expect(store.claims.length - before).toBeLessThanOrEqual(24)
  })

  test('a chore that is due and yields nothing does not keep it busy', async () => {
    store.recover = async () => ({ jobs: [], isMore: false })
    store.leases.set('stuck', { job: { id: 'stuck', epoch: 1 }, end: clock.now() })
    scheduler().start()
    await clock.advance(1 * S)
    expect(store.claims.length).toBeLessThanOrEqual(12)
  })

  test('what is to be forgotten and cannot be yet makes no departure late', async () => {
    store.forgetsAt = clock.now()
    scheduler().start()
    store.admit('one', clock.now() + 20 * MS)
    store.admit('other', clock.now() + 40 * MS)
    await clock.advance(46 * MS)
    expect(handedIds()).toEqual(['one', 'other'])
    await clock.advance(1 * S)
    expect(store.claims.length).toBeLessThanOrEqual(14)
  })
})

describe('start and stop', () => {
  test('twice is as good as once', async () => {
    const one = scheduler()
    one.start()
    one.start()
    await clock.advance(1 * S)
    expect(store.claims.length).toBe(1)
    await Promise.all([one.stop(), one.stop()])
    await one.stop()
  })

  test('stop ends the sleep, and nothing is claimed any more', async () => {
    const one = scheduler()
    one.start()
    await clock.advance(1 * S)
    await one.stop()
    const { length } = store.claims
    store.admit('after')
    await clock.advance(60 * S)
    expect(store.claims.length).toBe(length)
  })

  test('stop waits for the pass that is under way, and it claims no further', async () => {
    const one = scheduler()
    for (const id of ids(500)) store.admit(id)
    transport.takes = 30 * MS
    one.start()
    await clock.advance(1 * MS)
    let isStopped = false
    const stopped = one.stop().then(() => {
      isStopped = true
    })
    await clock.advance(20 * MS)
    expect(isStopped).toBe(false)
    await clock.advance(20 * MS)
    await stopped
    expect(handedIds()).toEqual(ids(100))
  })

  test('may be started again, and listens once', async () => {
    const one = scheduler()
    one.start()
    await clock.advance(1 * S)
    await one.stop()
    one.start()
    await clock.advance(1 * S)
    expect(store.sleepers).toBe(1)
    store.admit('new')
    await clock.advance(6 * MS)
    expect(handedIds()).toEqual(['new'])
  })
})

describe('outages', () => {
  test('the store is asked again after at most 50 ms, later about once a second; the outage is reported once', async () => {
    store.isAway = true
    const one = scheduler()
    const claim = store.claim.bind(store)
    const tries: number[] = []
    store.claim = (shard, request) => {
      tries.push(clock.now())
      return claim(shard, request)
    }
    one.start()
    await clock.advance(60 * S)
    const gaps = tries.slice(1).map((at, index) => (at - tries[index]!) / MS)
    expect(gaps.slice(0, 7)).toEqual([37.5, 75, 150, 300, 600, 750, 750])
    expect(Math.max(...gaps)).toBeLessThanOrEqual(1_000)
    expect(tries.length).toBeLessThan(90)
    expect(errors.splice(0)).toEqual(['the store is away'])
    store.isAway = false
    store.admit('after')
    await clock.advance(1 * S)
    expect(handedIds()).toEqual(['after'])
  })

  test('with the transport away, jobs wait in their line', async () => {
    transport.isAway = true
    const one = scheduler()
    for (const id of ids(3)) store.admit(id)
    one.start()
    await clock.advance(10 * S)
    expect(new Set(errors.splice(0))).toEqual(new Set(['the transport is away']))
    transport.isAway = false
    await clock.advance(4 * S)
    expect(new Set(handedIds())).toEqual(new Set(ids(3)))
    await one.stop()
  })

  test('where no wait for a marker succeeds, it looks about once a second', async () => {
    store.isDeaf = true
    scheduler().start()
    await clock.advance(20 * S)
    expect(errors.splice(0)).toEqual(['no process listens'])
    expect(store.claims.length).toBeLessThan(35)
    store.admit('unheard')
    await clock.advance(1.1 * S)
    expect(handedIds()).toEqual(['unheard'])
  })
})

describe('while no worker runs', () => {
  test('no more than about 2,000 jobs lie in the transport, though all are due', async () => {
    for (const id of ids(10_000)) store.admit(id)
    scheduler({ unfetched: () => transport.unfetched() }).start()
    let most = 0
    for (let second = 0; second < 20; second++) {
      await clock.advance(1 * S)
      most = Math.max(most, transport.queued.size)
    }
    expect(most).toBeGreaterThanOrEqual(1_900)
    expect(most).toBeLessThanOrEqual(2_100)
    expect(store.waiting.length + store.leases.size).toBe(10_000)
    expect(store.claims.length).toBeLessThan(800)
  })

  test('it is woken all the same, for there may be turns, which need no worker to fetch them', async () => {
    for (const id of ids(3_000)) store.admit(id)
    scheduler({ unfetched: () => transport.unfetched() }).start()
    await clock.advance(1.05 * S)
    const before = store.claims.length
    store.wake()
    await clock.advance(6 * MS)
    expect(store.claims.length).toBe(before + 1)
  })

  test('the transport is asked rarely while it is fetched from', async () => {
    scheduler({ unfetched: () => transport.unfetched() }).start()
    for (let round = 0; round < 100; round++) {
      for (const id of ids(100, round * 100)) store.admit(id)
      await clock.advance(20 * MS)
      transport.queued.clear()
    }
    expect(transport.handed.length).toBe(10_000)
    expect(transport.asked).toBeLessThanOrEqual(6)
  })
})

test('the look-ahead follows the time that handing over takes', async () => {
  const one = scheduler()
  transport.takes = 100 * MS
  one.start()
  for (const id of ids(5)) {
    store.admit(id)
    await clock.advance(1 * S)
  }
  expect(store.claims[0]!.lookAhead).toBe(50 * MS)
  expect(store.claims.at(-1)!.lookAhead).toBe(150 * MS)
})
