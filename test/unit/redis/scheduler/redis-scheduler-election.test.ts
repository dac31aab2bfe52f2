import { describe, expect, test } from 'vitest'
import {
  clock,
  errors,
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

describe('while another is elected', () => {
  test('it does nothing, and listens to no wakes', async () => {
    store.leader = 'b'
    store.leaderUntil = clock.now() + 1 * S
    store.admit('job')
    scheduler().start()
    await clock.advance(0.9 * S)
    expect(store.claims.length).toBe(1)
    expect(store.sleepers).toBe(0)
    expect(handedIds()).toEqual([])
  })

  test('it takes over when the other falls silent', async () => {
    store.leader = 'b'
    store.leaderUntil = clock.now() + 1 * S
    store.admit('job')
    scheduler().start()
    await clock.advance(1.05 * S)
    expect(handedIds()).toEqual(['job'])
  })

  test('of two, one works, and the other takes over in less than two seconds', async () => {
    const [a, b] = [scheduler({ name: 'a' }), scheduler({ name: 'b' })]
    a.start()
    b.start()
    for (const id of ids(20)) store.admit(id, clock.now() + Number(id.slice(1)) * 100 * MS)
    await clock.advance(1 * S)
    expect(store.leader).toBe('a')
    await a.stop()
    await clock.advance(2 * S)
    expect(store.leader).toBe('b')
    expect(store.resigned).toEqual(['a'])
    // No worker fetches here, so some come back and are handed over twice.
    expect([...new Set(handedIds())]).toEqual(ids(20))
  })

  test('it takes over immediately when the other stops', async () => {
    const [a, b] = [scheduler({ name: 'a' }), scheduler({ name: 'b' })]
    a.start()
    b.start()
    await clock.advance(100 * MS)
    expect([store.leader, store.heirs]).toEqual(['a', 1])
    store.admit('next', clock.now() + 20 * MS)
    await a.stop()
    await clock.advance(20 * MS)
    expect(store.leader).toBe('b')
    expect(transport.handed).toMatchObject([{ id: 'next', at: clock.now() }])
  })

  test('it leaves the other elected when it stops, and says so: a marker may be on its way to it', async () => {
    store.leader = 'b'
    store.leaderUntil = clock.now() + 1 * S
    const one = scheduler()
    one.start()
    await clock.advance(10 * MS)
    await one.stop()
    expect([store.leader, store.resigned, store.left]).toEqual(['b', [], ['a']])
  })

  test('a leader that lost the election stops in the middle of its pass', async () => {
    const one = scheduler()
    for (const id of ids(300)) store.admit(id)
    store.meanwhile = () => {
      store.leader = 'b'
      store.leaderUntil = clock.now() + 1 * S
    }
    expect(await one.runOnce()).toMatchObject({ handed: 100, isElected: false })
  })
})

describe('stopping', () => {
  test('resigns once, after the pass that is under way', async () => {
    const one = scheduler()
    store.admit('job')
    const steps: string[] = []
    store.meanwhile = async () => {
      await clock.sleep(50 * MS)
      steps.push('claimed')
    }
    const resign = store.resign.bind(store)
    store.resign = (shard, name) => {
      steps.push('resigned')
      return resign(shard, name)
    }
    one.start()
    const stopped = one.stop()
    await clock.advance(100 * MS)
    await stopped
    await one.stop()
    expect(steps).toEqual(['claimed', 'resigned'])
  })

  test('resigns also when the answer to its claim was lost', async () => {
    const one = scheduler()
    store.meanwhile = () => {
      throw new Error('lost')
    }
    await one.runOnce()
    expect(store.leader).toBe('a')
    await one.stop()
    expect(store.resigned).toEqual(['a'])
    expect(errors.splice(0)).toEqual(['lost'])
  })

  test('says nothing where it never asked', async () => {
    await scheduler().stop()
    expect([store.resigned, store.left]).toEqual([[], []])
  })

  test('ends though the store is away', async () => {
    const one = scheduler()
    await one.runOnce()
    store.isAway = true
    await one.stop()
    expect(errors.splice(0)).toEqual(['the store is away'])
  })
})
