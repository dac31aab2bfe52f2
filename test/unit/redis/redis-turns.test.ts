import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { BackendUnavailableError, NoLimitError } from '../../../src/core/errors.ts'
import { expectOver, RedisTurnsStage } from './redis-turns-stage.ts'

const MS = 1_000
const AWAY = new BackendUnavailableError('the store is away')

describe('a turn', () => {
  test('is returned to its caller: id, time, how long it took, and its fence', async () => {
    const stage = new RedisTurnsStage()
    const request = stage.admit({ cost: 3 })
    await stage.pass(250)
    stage.hand(request)
    stage.depart(request)
    await stage.pass(0)
    const value = { accepted: true, key: 'k', cost: 3, departedAt: 250, waitedMs: 250, fence: 7 }
    expect(stage.outcomes.get(request.id)).toEqual({ value })
    expect(stage.store.calls).toEqual([])
    await expectOver(stage)
  })

  test('is reported at the end of the event loop’s turn; the next one at the end of its own', async () => {
    const stage = new RedisTurnsStage()
    const order: string[] = []
    await stage.turns.reported
    const depart = (name: string) => {
      stage.depart(stage.admit())
      // As the worker does, after the handler was called.
      setImmediate(() => order.push(`${name} is sent`))
      return stage.turns.reported.then(() => order.push(`${name} is free`))
    }
    let second: Promise<unknown> | undefined
    // One whose slot comes while the word of the first is about to be sent.
    setImmediate(() => {
      second = depart('second')
    })
    await depart('first')
    await second
    expect(order).toEqual(['first is sent', 'first is free', 'second is sent', 'second is free'])
    await stage.turns.reported
    await expectOver(stage)
  })

  test('has an id of its own that names the process', () => {
    const [one, other] = [new RedisTurnsStage(), new RedisTurnsStage()]
    const ids = [one.ask(), one.ask(), other.ask()].map(({ id }) => id)
    expect(new Set(ids).size).toBe(3)
    expect(one.turns.caller).not.toBe(other.turns.caller)
    for (const id of ids.slice(0, 2)) expect(id.startsWith(`~${one.turns.caller}~`)).toBe(true)
  })

  test('may come before the verdict: then nothing is held, and nothing is given up', async () => {
    const stage = new RedisTurnsStage()
    const request = stage.ask()
    stage.hand(request)
    stage.depart(request)
    stage.turns.admitted(request)
    await stage.pass(0)
    expect(stage.outcomes.get(request.id)).toMatchObject({ value: { accepted: true } })
    expect(stage.store.calls).toEqual([])
    await expectOver(stage)
  })

  test('may come although the verdict was lost', async () => {
    const stage = new RedisTurnsStage()
    const request = stage.ask()
    stage.hand(request)
    stage.depart(request)
    stage.turns.failed(request, AWAY)
    await stage.pass(0)
    expect(stage.outcomes.get(request.id)).toMatchObject({ value: { accepted: true } })
    expect(stage.called('leave')).toEqual([])
    await expectOver(stage)
  })

  test('without a waiting caller is given up, and does not go to the gate', async () => {
    const stage = new RedisTurnsStage()
    const request = stage.admit()
    stage.hand(request)
    stage.depart(request)
    await stage.pass(0)
    expect(stage.turns.takeOn({ id: request.id, key: 'k', epoch: 2, shard: 1 })).toBe(false)
    await stage.pass(0)
    expect(stage.called('leave')).toEqual([`leave ${request.id}`])
    await expectOver(stage)
  })
})

describe('a verdict', () => {
  test('that refuses leaves nothing behind', async () => {
    const stage = new RedisTurnsStage()
    const request = stage.ask({ deadline: 900_000 * MS })
    stage.turns.refused(request.id)
    await stage.pass(0)
    expect(stage.store.calls).toEqual([])
    await expectOver(stage)
  })

  test('that did not come is reported, and the place given up, if there is one', async () => {
    const stage = new RedisTurnsStage()
    const request = stage.ask()
    stage.store.states.set(request.id, 'waiting')
    stage.turns.failed(request, AWAY)
    await stage.pass(0)
    expect(stage.outcomes.get(request.id)).toEqual({ error: AWAY })
    expect(stage.cancelled).toEqual([request.id])
    await expectOver(stage)
  })

  test('that is an error leaves nothing behind', async () => {
    const stage = new RedisTurnsStage()
    const request = stage.ask()
    const error = new NoLimitError('k')
    stage.turns.failed(request, error)
    await stage.pass(0)
    expect(stage.outcomes.get(request.id)).toEqual({ error })
    expect(stage.store.calls).toEqual([])
    await expectOver(stage)
  })

  test('may come late: until then nothing is renewed, and so nothing can be called lost', async () => {
    const stage = new RedisTurnsStage()
    const request = stage.ask()
    await stage.pass(1_900)
    expect(stage.called('renew')).toEqual([])
    stage.store.states.set(request.id, 'waiting')
    stage.turns.admitted(request)
    await stage.pass(1_700)
    expect(stage.called('renew')).toEqual([`renew 1 ${request.id}:0`])
    expect(stage.outcomes.size).toBe(0)
  })
})

describe('an abort', () => {
  const REASON = new Error('enough')

  test('while the line was not asked yet', async () => {
    const stage = new RedisTurnsStage()
    const request = stage.ask({}, AbortSignal.abort(REASON))
    stage.turns.refused(request.id)
    await stage.pass(0)
    expect(stage.outcomes.get(request.id)).toEqual({ error: REASON })
    await expectOver(stage)
  })

  test('before the verdict rejects immediately, and the place is given up when there is one', async () => {
    const stage = new RedisTurnsStage()
    const abort = new AbortController()
    const request = stage.ask({}, abort.signal)
    await stage.pass(1)
    abort.abort(REASON)
    await stage.pass(0)
    expect(stage.outcomes.get(request.id)).toEqual({ error: REASON })
    expect(stage.cancelled).toEqual([])
    stage.store.states.set(request.id, 'waiting')
    stage.turns.admitted(request)
    await stage.pass(0)
    expect(stage.cancelled).toEqual([request.id])
    await expectOver(stage)
  })

  test('while the caller waits gives up the place', async () => {
    const stage = new RedisTurnsStage()
    const abort = new AbortController()
    const request = stage.admit({ deadline: 60_000 * MS }, abort.signal)
    await stage.pass(100)
    abort.abort(REASON)
    await stage.pass(0)
    expect(stage.outcomes.get(request.id)).toEqual({ error: REASON })
    expect([stage.cancelled, stage.dropped]).toEqual([[request.id], []])
    await expectOver(stage)
  })

  test('when the turn was handed over keeps it from starting, whatever the store knows', async () => {
    const stage = new RedisTurnsStage()
    const abort = new AbortController()
    const request = stage.admit({}, abort.signal)
    const handed = stage.hand(request)
    stage.store.isDown = true
    abort.abort(REASON)
    expect(stage.dropped).toEqual([handed])
    await stage.pass(0)
    expect(stage.outcomes.get(request.id)).toEqual({ error: REASON })
    await stage.pass(2_000)
    await expectOver(stage)
  })

  test('after the turn has come changes nothing, and leaves no listener', async () => {
    const stage = new RedisTurnsStage()
    const abort = new AbortController()
    const requests = [stage.admit({}, abort.signal), stage.admit({}, abort.signal)]
    // One for both, however many there are.
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(1)
    stage.hand(requests[0]!)
    stage.depart(requests[0]!)
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(1)
    stage.turns.refused(requests[1]!.id)
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(0)
    abort.abort(REASON)
    await stage.pass(0)
    expect(stage.outcomes.get(requests[0]!.id)).toMatchObject({ value: { accepted: true } })
    expect(stage.store.calls).toEqual([])
    await expectOver(stage)
  })
})

describe('a timeout', () => {
  test('that has come is reported a moment after its time', async () => {
    const stage = new RedisTurnsStage()
    const request = stage.admit({ deadline: 700 * MS })
    await stage.pass(799)
    expect(stage.outcomes.size).toBe(0)
    await stage.pass(1)
    const error = { code: 'turn-timeout', key: 'k', timeoutMs: 700 }
    expect(stage.outcomes.get(request.id)).toMatchObject({ error })
    expect(stage.cancelled).toEqual([request.id])
    await expectOver(stage)
  })

  test('of a caller that would not wait gives the turn time to travel', async () => {
    const stage = new RedisTurnsStage()
    const request = stage.admit({ deadline: 0 })
    await stage.pass(199)
    expect(stage.outcomes.size).toBe(0)
    await stage.pass(1)
    expect(stage.outcomes.get(request.id)).toMatchObject({ error: { code: 'turn-timeout', timeoutMs: 0 } })
    await expectOver(stage)
  })

  test('of a caller that would not wait begins with the verdict, of others when they ask', async () => {
    const stage = new RedisTurnsStage()
    const [never, soon] = [stage.ask({ deadline: 0 }), stage.ask({ deadline: 500 * MS })]
    await stage.pass(600)
    expect(stage.outcomes.get(soon.id)).toMatchObject({ error: { code: 'turn-timeout' } })
    await stage.pass(1_200)
    stage.turns.admitted(never)
    await stage.pass(199)
    expect(stage.outcomes.has(never.id)).toBe(false)
    await stage.pass(1)
    expect(stage.outcomes.get(never.id)).toMatchObject({ error: { code: 'turn-timeout' } })
    stage.turns.failed(soon, AWAY)
    await expectOver(stage)
  })

  test('that the line reports first is reported immediately', async () => {
    const stage = new RedisTurnsStage()
    const request = stage.admit({ deadline: 700 * MS })
    await stage.pass(700)
    stage.store.states.set(request.id, 'expired')
    stage.turns.expired(request.id)
    await stage.pass(0)
    expect(stage.outcomes.get(request.id)).toMatchObject({ error: { code: 'turn-timeout' } })
    await expectOver(stage)
  })

  test('does not wait for a store that is away, and what was handed over does not start any more', async () => {
    const stage = new RedisTurnsStage()
    const request = stage.admit({ deadline: 500 * MS })
    const handed = stage.hand(request)
    stage.store.isDown = true
    await stage.pass(600)
    expect(stage.outcomes.get(request.id)).toMatchObject({ error: { code: 'turn-timeout' } })
    expect(stage.dropped).toEqual([handed])
    await stage.pass(2_000)
    await expectOver(stage)
  })

  test('is forgotten when the turn has come', async () => {
    const stage = new RedisTurnsStage()
    const request = stage.admit({ deadline: 500 * MS })
    stage.hand(request)
    stage.depart(request)
    await stage.pass(5_000)
    expect(stage.outcomes.get(request.id)).toMatchObject({ value: { accepted: true } })
    expect(stage.store.calls).toEqual([])
    await expectOver(stage)
  })
})

describe('close', () => {
  test('rejects all waiting callers, and resolves when their places are given up', async () => {
    const stage = new RedisTurnsStage()
    const [waits, handed, asked] = [stage.admit(), stage.admit(), stage.ask()]
    const delivery = stage.hand(handed!)
    await stage.turns.close()
    expect(stage.dropped).toEqual([delivery])
    expect(stage.cancelled).toEqual([waits!.id, handed!.id])
    await stage.pass(0)
    for (const { id } of [waits!, handed!, asked!]) {
      expect(stage.outcomes.get(id)).toMatchObject({ error: { code: 'closed' } })
    }
    stage.store.states.set(asked!.id, 'waiting')
    stage.turns.admitted(asked!)
    await stage.pass(0)
    expect(stage.cancelled).toContain(asked!.id)
    await expectOver(stage)
  })

  test('with drainMs lets turns come, and resolves with the last of them', async () => {
    const stage = new RedisTurnsStage()
    const requests = [stage.admit(), stage.admit()]
    const closed = stage.turns.close(10_000).then(() => stage.now)
    for (const request of requests) {
      await stage.pass(100)
      stage.hand(request)
      stage.depart(request)
    }
    await stage.pass(0)
    expect(await closed).toBe(200)
    for (const { id } of requests) expect(stage.outcomes.get(id)).toMatchObject({ value: { accepted: true } })
    await expectOver(stage)
  })

  test('with drainMs waits also where no caller waited for a while before', async () => {
    const stage = new RedisTurnsStage()
    stage.depart(stage.admit())
    await stage.pass(0)
    const request = stage.admit()
    const closed = stage.turns.close(10_000).then(() => stage.now)
    await stage.pass(100)
    stage.depart(request)
    await stage.pass(0)
    expect(await closed).toBe(100)
    await expectOver(stage)
  })

  test('with drainMs rejects the waiting callers when it is over', async () => {
    const stage = new RedisTurnsStage()
    const [comes, waits] = [stage.admit(), stage.admit()]
    const closed = stage.turns.close(500).then(() => stage.now)
    await stage.pass(100)
    stage.depart(comes!)
    await stage.pass(400)
    expect(await closed).toBe(500)
    expect(stage.outcomes.get(comes!.id)).toMatchObject({ value: { accepted: true } })
    expect(stage.outcomes.get(waits!.id)).toMatchObject({ error: { code: 'closed' } })
    expect(stage.cancelled).toEqual([waits!.id])
    await expectOver(stage)
  })

  test('without waiting callers resolves immediately, and with the store away all the same', async () => {
    const stage = new RedisTurnsStage()
    await stage.turns.close(10_000)
    const request = stage.admit()
    stage.store.isDown = true
    const closed = stage.turns.close()
    await stage.pass(2_000)
    await closed
    expect(stage.outcomes.get(request.id)).toMatchObject({ error: { code: 'closed' } })
    await expectOver(stage)
  })
})
