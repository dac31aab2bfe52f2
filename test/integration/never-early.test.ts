import { describe, expect, test } from 'vitest'
import { monotonicNow, systemClock } from '../../src/core/clock.ts'
import { type Clock, type ShapedJob, Shaper } from '../../src/index.ts'
import { checkHistory, recordHistory, VirtualClock } from '../../src/testing.ts'
import { runChild } from '../support/child.ts'

const SECOND = 1_000_000

function block(ms: number): void {
  const until = monotonicNow() + ms * 1_000
  while (monotonicNow() < until);
}

interface Start {
  readonly key: string
  /** The reading of the gate, and one that the handler took itself, first thing. */
  readonly departedAt: number
  readonly at: number
}

function measured(limit: string, during: (start: number) => void = () => undefined) {
  const shaper = new Shaper('measured', { limits: { '*': limit } })
  const recording = recordHistory(shaper)
  const starts: Start[] = []
  const handler = (job: ShapedJob) => {
    const at = monotonicNow()
    starts.push({ key: job.key, at, departedAt: job.departedAt * 1_000 })
    during(starts.length)
  }
  shaper.work(recording.timed(handler))
  return { shaper, recording, starts }
}

/** GCRA, written out once more, by clocks read in the handlers; and no handler starts before the gate let it. */
function expectSpacing(starts: readonly Start[], interval: number, tolerance: number): void {
  let due = Number.NEGATIVE_INFINITY
  for (const { at, departedAt } of starts) {
    expect(at).toBeGreaterThanOrEqual(due - tolerance - 1)
    expect(at).toBeGreaterThanOrEqual(departedAt - 1)
    due = Math.max(at, due) + interval
  }
}

describe('in real time', () => {
  test('200 a second for 1.5 s: never early, never a gap that is too short', async () => {
    const { shaper, recording, starts } = measured('400, 200/s')
    const from = monotonicNow()
    await shaper.enqueueMany(Array.from({ length: 300 }, (_, data) => ({ key: 'k', data })))
    await shaper.close({ drainMs: 60_000 })
    expect(starts).toHaveLength(300)
    for (const [n, { at }] of starts.entries()) {
      // Slot n cannot lie before n intervals have passed: lateness only moves it back.
      expect(at).toBeGreaterThanOrEqual(from + n * 5_000 - 1)
    }
    expectSpacing(starts, 5_000, 1_250)
    await recording.audit()
    expect(checkHistory(recording.history)).toEqual([])
  })

  test('a process that nothing has warmed up keeps the spacing of 1,000 starts', async () => {
    const { code, out, err } = await runChild('cold-starts').ended
    expect({ code, err }).toMatchObject({ code: 0 })
    const starts: number[] = JSON.parse(out)
    expect(starts).toHaveLength(1_000)
    expectSpacing(
      starts.map((ms) => ({ key: 'k', at: ms * 1_000, departedAt: ms * 1_000 })),
      5_000,
      1_250,
    )
  })

  test('strict spacing: 2/s that tolerate nothing are never closer than 500 ms', async () => {
    const { shaper, recording, starts } = measured('100, 2/s, tolerance 0')
    await shaper.enqueueMany(Array.from({ length: 6 }, (_, data) => ({ key: 'k', data })))
    await shaper.close({ drainMs: 60_000 })
    expect(starts).toHaveLength(6)
    for (const [n, { at }] of starts.entries()) {
      if (n > 0) expect(at - starts[n - 1]!.at).toBeGreaterThanOrEqual(500_000)
    }
    await recording.audit()
    expect(checkHistory(recording.history)).toEqual([])
  })

  test('many keys with rates of their own, and handlers that hold up the event loop', async () => {
    const { shaper, recording, starts } = measured('100, 40/s', (n) => {
      if (n % 7 === 0) block(n % 3 === 0 ? 30 : 3)
    })
    const keys = Array.from({ length: 20 }, (_, n) => `k${n}`)
    for (const key of keys) {
      await shaper.enqueueMany(Array.from({ length: 25 }, (_, data) => ({ key, data, cost: 1 })))
    }
    await shaper.close({ drainMs: 60_000 })
    expect(starts).toHaveLength(500)
    for (const key of keys) {
      const own = starts.filter((start) => start.key === key)
      expectSpacing(own, 25_000, 5_000)
    }
    await recording.audit()
    expect(checkHistory(recording.history)).toEqual([])
  })

  test('an event loop that was blocked for 300 ms is never repaid as a burst', async () => {
    const { shaper, recording, starts } = measured('100, 50/s')
    await shaper.enqueueMany(Array.from({ length: 40 }, (_, data) => ({ key: 'k', data })))
    while (starts.length < 10) await new Promise(setImmediate)
    const before = starts.length
    block(300)
    const blockedUntil = monotonicNow()
    await shaper.close({ drainMs: 60_000 })
    expect(starts).toHaveLength(40)
    expectSpacing(starts, 20_000, 5_000)
    // Nothing is owed for the time that was lost: the rest takes as long as it would have taken anyway.
    const soonest = blockedUntil + (39 - before) * 20_000 - 5_000
    expect(starts[39]!.departedAt).toBeGreaterThanOrEqual(soonest - 1)
    await recording.audit()
    expect(checkHistory(recording.history)).toEqual([])
  })
})

describe('the clock of the process', () => {
  test.each([0, 5_000, Number.POSITIVE_INFINITY])(
    'calls back never early, never synchronously, and never twice (slack of %s us)',
    async (slack) => {
      const waits = [-1_000, 0, 0.5, 1, 1.5, 2, 2.9, 3, 3.1, 7.3, 20, 41.7]
      const woken = await Promise.all(
        waits.map((ms) => {
          const at = systemClock.now() + ms * 1_000
          return new Promise<number>((resolve) => {
            let isWithin = true
            systemClock.wake(
              at,
              () => {
                expect(isWithin).toBe(false)
                resolve(systemClock.now() - at)
              },
              slack,
            )
            isWithin = false
            // Nothing else keeps the process for it.
            const keep = setInterval(() => undefined, 1)
            setTimeout(() => clearInterval(keep), 100)
          })
        }),
      )
      for (const late of woken) expect(late).toBeGreaterThanOrEqual(0)
    },
  )

  test('a wish that was taken back is not granted', async () => {
    const woken: number[] = []
    const cancels = [-1, 1, 2.5, 10].map((ms) =>
      systemClock.wake(
        systemClock.now() + ms * 1_000,
        () => void woken.push(ms),
        ms > 1 ? 0 : Number.POSITIVE_INFINITY,
      ),
    )
    for (const cancel of cancels) cancel()
    for (const cancel of cancels) cancel()
    await new Promise((resolve) => void setTimeout(resolve, 30))
    expect(woken).toEqual([])
  })

  test('a slot beyond the longest timer of Node does not come early', async () => {
    // A timer of more than 2^31-1 ms fires after 1 ms, so within these 200 ms it would have.
    const { shaper, starts } = measured('10, 1 per 30 days')
    const warnings: Error[] = []
    // Other files have run in this process.
    const onWarning = (warning: Error) => {
      if (warning.name === 'TimeoutOverflowWarning') warnings.push(warning)
    }
    process.on('warning', onWarning)
    await shaper.enqueueMany(Array.from({ length: 3 }, (_, data) => ({ key: 'k', data })))
    await new Promise((resolve) => void setTimeout(resolve, 200))
    process.off('warning', onWarning)
    expect([starts.length, warnings]).toEqual([1, []])
    expect(await shaper.inspect('k')).toMatchObject({ jobs: 2 })
    await shaper.close()
  })

  test('departs on time when the slot is further away than a timer can wait', async () => {
    const clock = new VirtualClock()
    const wakes: number[] = []
    const time: Clock = {
      now: () => clock.now(),
      wake: (at, callback) => {
        wakes.push(at)
        return clock.wake(at, callback)
      },
    }
    const shaper = new Shaper('far', { limits: { '*': '10, 1 per 300 days' }, clock: time })
    const starts: number[] = []
    shaper.work(() => void starts.push(clock.now() / SECOND))
    await shaper.enqueueMany(Array.from({ length: 3 }, (_, data) => ({ key: 'k', data })))
    await clock.advance(700 * 86_400 * SECOND)
    expect(starts).toEqual([0, 300 * 86_400, 600 * 86_400])
    expect(wakes.length).toBeLessThan(20)
    await shaper.close()
  })
})
