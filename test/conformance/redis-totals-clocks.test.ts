import { expect, onTestFinished, test } from 'vitest'
import { SECOND } from '../../src/core/duration.ts'
import type { ClockError } from '../../src/redis/slots/offset.ts'
import { type Grant, StartWindow } from '../../src/redis/slots/start-window.ts'
import { at, request } from '../support/backend-driver.ts'
import { claim, openRedisBackend } from '../support/redis-driver.ts'

const INTERVAL = 10_000
const TOLERANCE = 10_000

/** The earliest and the latest time at which a worker may really start a job, if its clock is off by `error` at most. */
function rangeOf(grant: Grant, error: ClockError) {
  const clock = { now: () => 0, wake: () => () => undefined }
  const store = { isSound: true, measurement: 1, toLocal: (time: number) => time, error }
  const ports = { clock, leases: { heldUntil: () => Number.POSITIVE_INFINITY } }
  const window = new StartWindow(ports, store, { id: 'x', epoch: 1, key: 'a', shard: 0 }, grant, 1)
  const { opensAt } = window
  const usable = -window.overdue(opensAt)
  return { usable, earliest: opensAt - error.ahead, latest: opensAt + usable + error.behind }
}

const evenly = (error: number): ClockError => ({ ahead: error, behind: error })
const lopsided = [
  { ahead: 0, behind: 6_000 },
  { ahead: 6_000, behind: 0 },
  { ahead: 500, behind: 11_000 },
]

test.each([...[0, 500, 1_500, 3_000, 4_000, 6_000, 20_000].map(evenly), ...lopsided])(
  'starts below a total keep its pace where the clocks of workers are up to $ahead us ahead and $behind us behind',
  async (error) => {
    const backend = await openRedisBackend({
      limits: { 'a/*': '9, 500/s', 'a/': '900, 100/s' },
      openedAt: at(0),
    })
    onTestFinished(() => backend.wakes.stop())
    const { verbs } = backend
    const keys = Array.from({ length: 8 }, (_, n) => `a/${n}`)
    for (const key of keys) await verbs.admit(request(key, { key }), at(0))
    const { jobs } = await claim(verbs, at(0), 250_000, 200)
    const asks = jobs.map((job) => ({
      ...job,
      worker: 'test',
      lead: 0,
      lease: SECOND,
      error: error.ahead + error.behind,
    }))
    const { answers } = await verbs.gate(0, asks, at(0))
    // Slots further away than 250 ms are not granted.
    const granted = answers.filter((answer): answer is Grant => answer.kind === 'granted')
    const ranges = granted.map((grant) => rangeOf(grant, error))
    expect(ranges.length).toBeGreaterThan(4)
    for (const [index, { usable, latest }] of ranges.entries()) {
      expect(usable).toBeGreaterThan(2_000)
      for (const [further, { earliest }] of ranges.slice(index + 1).entries()) {
        expect(earliest - latest).toBeGreaterThanOrEqual((further + 1) * INTERVAL - TOLERANCE)
      }
    }
  },
)
