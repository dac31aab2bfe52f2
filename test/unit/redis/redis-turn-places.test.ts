import { describe, expect, test } from 'vitest'
import { expectOver, RedisTurnsStage } from './redis-turns-stage.ts'

/** A place is leased for that long, and renewed after a third of it. */
const PLACE_MS = 3_900
const RENEWED_MS = PLACE_MS / 3

describe('a place', () => {
  test('is renewed as long as its caller waits, all of a shard in one call', async () => {
    const stage = new RedisTurnsStage()
    const requests = [stage.admit(), stage.admit(), stage.admit({ key: 'long' })]
    await stage.pass(60_000)
    const [one, two, three] = requests.map(({ id }) => `${id}:0`)
    const calls = stage.called('renew')
    expect(calls.slice(0, 2)).toEqual([`renew 1 ${one} ${two}`, `renew 4 ${three}`])
    expect(calls).toHaveLength(2 * Math.floor(60_000 / RENEWED_MS))
    for (const request of requests) {
      stage.hand(request)
      stage.depart(request)
    }
    await expectOver(stage)
  })

  test.each([
    ['cancelled', 'turn-cancelled'],
    ['failed', 'turn-cancelled'],
    ['expired', 'turn-timeout'],
    [undefined, 'turn-cancelled'],
  ] as const)('that is %s in the store is explained: %s', async (state, code) => {
    const stage = new RedisTurnsStage()
    const request = stage.admit()
    if (state === undefined) stage.store.states.delete(request.id)
    else stage.store.states.set(request.id, state)
    await stage.pass(RENEWED_MS + 1)
    expect(stage.outcomes.get(request.id)).toMatchObject({ error: { code } })
    await expectOver(stage)
  })

  test('that is lost while the turn comes is not explained: it comes', async () => {
    const stage = new RedisTurnsStage()
    const request = stage.admit()
    stage.hand(request)
    stage.store.states.set(request.id, 'completed')
    await stage.pass(RENEWED_MS + 1)
    expect(stage.outcomes.size).toBe(0)
    stage.depart(request)
    await stage.pass(0)
    expect(stage.outcomes.get(request.id)).toMatchObject({ value: { accepted: true } })
    await expectOver(stage)
  })

  test('outlives an outage of a minute', async () => {
    const stage = new RedisTurnsStage()
    const request = stage.admit()
    stage.store.isDown = true
    await stage.pass(60_000)
    stage.store.isDown = false
    await stage.pass(10_000)
    expect(stage.outcomes.size).toBe(0)
    const renewals = stage.called('renew').length
    await stage.pass(60_000)
    expect(stage.called('renew').length).toBeGreaterThan(renewals + 30)
    stage.hand(request)
    stage.depart(request)
    await expectOver(stage)
  })

  test('of an outage that lasts longer is lost, and its caller gets the reason', async () => {
    const stage = new RedisTurnsStage()
    const request = stage.admit()
    stage.store.isDown = true
    await stage.pass(70_000)
    expect(stage.outcomes.get(request.id)).toMatchObject({ error: { code: 'backend-unavailable' } })
    await expectOver(stage)
  })

  test('that the store knows still when the outage ends, at the last moment, is kept', async () => {
    const stage = new RedisTurnsStage()
    const request = stage.admit()
    stage.store.isDown = true
    // Its end is asked about when the store is back; the calls under way fail later.
    await stage.pass(60_000 + PLACE_MS - 1)
    stage.store.isDown = false
    await stage.pass(20_000)
    expect(stage.called('job')).toEqual([`job ${request.id}`])
    expect(stage.outcomes.size).toBe(0)
    const renewals = stage.called('renew').length
    await stage.pass(10_000)
    expect(stage.called('renew').length).toBeGreaterThan(renewals)
  })

  test('about which the store holds a foreign value gets an error, and nothing is left unhandled', async () => {
    const stage = new RedisTurnsStage()
    const request = stage.admit()
    stage.store.states.delete(request.id)
    await stage.pass(RENEWED_MS - 1)
    const renewed = stage.store.renew.bind(stage.store)
    stage.store.renew = (shard, jobs) => {
      const answers = renewed(shard, jobs)
      stage.store.isForeign = true
      return answers
    }
    await stage.pass(2)
    expect(stage.outcomes.get(request.id)).toMatchObject({ error: { code: 'foreign-value' } })
    await expectOver(stage)
  })

  test('that cannot be given up because of a foreign value is reported to the listeners', async () => {
    const stage = new RedisTurnsStage()
    const abort = new AbortController()
    stage.admit({}, abort.signal)
    stage.store.isForeign = true
    abort.abort()
    await stage.pass(0)
    expect(stage.errors).toMatchObject([{ code: 'foreign-value' }])
    expect(stage.clock.armed).toBe(0)
  })
})
