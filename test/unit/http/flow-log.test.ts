import { afterEach, expect, test, vi } from 'vitest'
import { FlowLog } from '../../../src/http/events/flow-log.ts'
import type { Shaper } from '../../../src/index.ts'

afterEach(() => void vi.useRealTimers())

test('continues after the clock of the line is set back, without the entries of the repeated time', async () => {
  vi.useFakeTimers()
  let at = 600_000
  const flow = async () => ({ at, admitted: at, rejected: 0, departed: 0, ended: 0 })
  const log = new FlowLog({ flow, on: () => undefined } as unknown as Shaper, 1_000)
  log.start()
  const pass = async (times: number) => {
    for (let n = 0; n < times; n++) {
      at += 1_000
      await vi.advanceTimersByTimeAsync(1_000)
    }
  }
  await pass(3)
  expect(log.history.map((totals) => totals.at)).toEqual([601_000, 602_000, 603_000])
  at -= 600_000
  await pass(2)
  log.stop()
  expect(log.history.map((totals) => totals.at)).toEqual([4_000, 5_000])
})
