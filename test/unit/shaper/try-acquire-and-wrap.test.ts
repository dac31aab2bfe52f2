import { describe, expect, it } from 'vitest'
import { Shaper, TurnRefusedError } from '../../../src/index.ts'
import { VirtualClock } from '../../../src/testing.ts'
import { Stage } from '../../support/stage.ts'

function open(limits: ConstructorParameters<typeof Stage>[0] = '9, 1/s') {
  const stage = new Stage(limits)
  return { stage, shaper: stage.shaper }
}

describe('tryAcquire', () => {
  it('takes a turn that can be had now, and waits for no other', async () => {
    const { stage, shaper } = open()
    const taken = shaper.tryAcquire('k', { cost: 2 })
    await stage.pass(0)
    expect(await taken).toMatchObject({ accepted: true, departedAt: 0, cost: 2 })
    expect(await shaper.tryAcquire('k')).toMatchObject({
      accepted: false,
      reason: 'not-now',
      retryAfterMs: 2_000,
    })
    await stage.pass(2_000)
    const again = shaper.tryAcquire('k')
    await stage.pass(0)
    expect(await again).toMatchObject({ accepted: true, departedAt: 2_000 })
    await stage.conforms()
  })

  it('says not now of a full line, and keeps what no waiting changes', async () => {
    const { shaper } = open('2, 1/s')
    await shaper.enqueueMany([1, 2].map((data) => ({ key: 'full', data })))
    expect(await shaper.tryAcquire('full')).toMatchObject({ reason: 'not-now', waiting: 2, capacity: 2 })
    await shaper.pause('paused')
    expect(await shaper.tryAcquire('paused')).toMatchObject({ reason: 'paused' })
    expect(await shaper.tryAcquire('k', { cost: 3 })).toMatchObject({ reason: 'too-costly' })
  })

  it('takes what is free in the tick of the call, however long the process is held up then', async () => {
    const { stage, shaper } = open()
    const taken = shaper.tryAcquire('k')
    // Nobody was woken for the whole hour.
    stage.clock.wake(0, () => undefined)
    await stage.pass(3_600_000)
    expect(await taken).toMatchObject({ accepted: true, departedAt: 0 })
  })

  it('is refused, not timed out, when the process is held up before the line could move', async () => {
    class HeldUp extends VirtualClock {
      by = 0
      override now(): number {
        return super.now() + this.by
      }
    }
    const clock = new HeldUp()
    await using shaper = new Shaper('held up', { limits: { '*': '9, 1/s' }, clock })
    const verdicts: unknown[] = []
    shaper.work(async () => {
      // Within a pass of the scheduler no other job departs.
      const asked = shaper.tryAcquire('other')
      clock.by = 1_000_000
      verdicts.push(await asked)
    })
    await shaper.enqueue('k', 1)
    await clock.advance(1_000_000)
    expect(verdicts).toEqual([
      { accepted: false, reason: 'not-now', key: 'other', retryAfterMs: 1, waiting: 0, capacity: 9 },
    ])
  })

  it('has no timeout and no signal', async () => {
    const { shaper } = open()
    await expect(shaper.tryAcquire('k', { timeoutMs: 5 } as object)).rejects.toThrow(
      'unknown option "timeoutMs"',
    )
  })
})

describe('wrap', () => {
  const wrapped = (shaper: Shaper, calls: unknown[]) =>
    shaper.wrap(
      function (this: unknown, account: string, units: number) {
        calls.push([this, account, units])
        return `${account}:${units}`
      },
      { key: (account) => account, cost: (_, units) => units },
    )

  it('calls with the same this and arguments when the turn has come, and returns the same', async () => {
    const { stage, shaper } = open()
    const calls: unknown[] = []
    const owner = { call: wrapped(shaper, calls) }
    const answers = [owner.call('x', 3), owner.call('x', 1), owner.call('y', 1)]
    await stage.pass(2_999)
    expect(calls).toEqual([
      [owner, 'x', 3],
      [owner, 'y', 1],
    ])
    await stage.pass(1)
    expect(await Promise.all(answers)).toEqual(['x:3', 'x:1', 'y:1'])
    await stage.conforms()
  })

  it('rejects as the function does, which has used its turn', async () => {
    const { stage, shaper } = open()
    const fails = shaper.wrap(
      async () => {
        throw new Error('no luck')
      },
      { key: 'k' },
    )
    const failed = expect(fails()).rejects.toThrow('no luck')
    await stage.pass(0)
    await failed
    expect(await shaper.tryAcquire('k')).toMatchObject({ accepted: false, retryAfterMs: 1_000 })
  })

  it('does not call when there is no turn', async () => {
    const { shaper } = open('1, 1/h')
    let calls = 0
    const call = shaper.wrap(() => ++calls, { key: 'k', cost: 2 })
    await expect(call()).rejects.toThrow(TurnRefusedError)
    expect(calls).toBe(0)
  })

  it.each([
    [5, { key: 'k' }, 'wrap: expected a function to wrap, got: 5'],
    [() => 1, {}, 'wrap: expected key to be a key or a function that returns one, got: undefined'],
    [() => 1, { key: 'k', costz: 2 }, 'wrap: unknown option "costz": did you mean cost?'],
    [() => 1, { key: 'k', cost: 1.5 }, 'wrap: expected cost to be'],
  ])('refuses %o with %o', (fn, options, message) => {
    const { shaper } = open()
    expect(() => shaper.wrap(fn as () => number, options as { key: string })).toThrow(message)
  })
})
