import { expect, test } from 'vitest'
import { checkHistory } from '../../../src/conformance/conformance.ts'
import type { HistoryEvent } from '../../../src/conformance/history.ts'
import { parseLimit } from '../../../src/core/limit.ts'
import {
  accept,
  audit,
  end,
  fault,
  freeze,
  giveBack,
  limit,
  pause,
  reject,
  resume,
  start,
} from '../../support/history.ts'

test('an empty history has no breach', () => {
  expect(checkHistory([])).toEqual([])
})

test('a history with everything in it that obeys every law has no breach', () => {
  const history: HistoryEvent[] = [
    limit(0, '3, 10/s'),
    limit(0, '1, 1/s', 'b'),
    accept(0, 'x', { seq: 1 }),
    start(0, 'x'),
    accept(1, 'y', { cost: 2, seq: 2 }),
    accept(2, 'z', { seq: 3 }),
    reject(3, 'w', { retryAt: 100 }),
    reject(3, 'v', { reason: 'too-costly', cost: 4, retryAt: Infinity }),
    accept(4, 'other', { key: 'b' }),
    start(5, 'other', { key: 'b' }),
    start(100, 'y', { cost: 2 }),
    accept(101, 'w', { seq: 4 }),
    giveBack(110, 'x', 'retry', 350),
    audit(115, { admitted: 5, waiting: 2, running: 2, retrying: 1 }),
    fault(120, 'y'),
    start(300, 'z'),
    freeze(310, 700),
    giveBack(310, 'z', 'freeze', 700),
    start(700, 'y', { cost: 2 }),
    end(705, 'y'),
    pause(710),
    resume(1_000),
    start(1_001, 'x', { attempt: 2 }),
    end(1_002, 'x', 'failed'),
    limit(1_003, '5, 1/s'),
    start(2_001, 'z'),
    end(2_002, 'z'),
    end(2_003, 'w', 'cancelled'),
    end(2_003, 'other'),
    audit(2_004, { admitted: 5, ended: 5 }),
  ]
  expect(checkHistory(history, { minUtilisation: 0.99, concurrency: 8 })).toEqual([])
})

test('breaches are reported in the order of time', () => {
  const history = [
    limit(0, '3, 10/s'),
    accept(0, 'x'),
    accept(0, 'y'),
    start(0, 'y'),
    start(10, 'x'),
    end(20, 'x'),
    end(21, 'y'),
    audit(22, { admitted: 1 }),
  ]
  expect(checkHistory(history).map(({ law, id }) => [law, id])).toEqual([
    ['L4', 'y'],
    ['L2', 'x'],
    ['L9', undefined],
  ])
})

test('names from outside are quoted in messages', () => {
  const [breach] = checkHistory([start(0, 'x\n', { key: 'a"b' })])
  expect(breach?.message).toContain('key "a\\"b": the start of job "x\\n"')
})

test('half a million events over a thousand keys are checked in seconds', () => {
  const rule = parseLimit('1000, 10/s')
  const history: HistoryEvent[] = []
  const keys = Array.from({ length: 1_000 }, (_, n) => `key${n}`)
  for (const key of keys) history.push({ type: 'limit', at: 0, key, limit: rule })
  for (let round = 0; round < 166; round++) {
    const at = round * 100_000
    for (const key of keys) {
      const id = `${key}-${round}`
      history.push({ type: 'answer', at, id, key, cost: 1, accepted: true, departsAt: at })
      history.push({ type: 'start', at, id, key, cost: 1, attempt: 1 })
      history.push({ type: 'end', at, id, outcome: 'completed' })
    }
  }
  expect(checkHistory(history, { minUtilisation: 0.999 })).toEqual([])
})
