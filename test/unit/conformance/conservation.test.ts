import { expect, test } from 'vitest'
import { checkHistory } from '../../../src/conformance/conformance.ts'
import type { HistoryEvent } from '../../../src/conformance/history.ts'
import { accept, audit, end, fault, giveBack, limit, reject, start } from '../../support/history.ts'

/** Of five jobs one waits, one is handed, one runs, one is to be retried, one has ended; one more was refused. */
const five: HistoryEvent[] = [
  limit(0, '4, 10/s'),
  accept(0, 'ended'),
  start(0, 'ended'),
  end(1, 'ended'),
  accept(2, 'retried'),
  start(100, 'retried'),
  giveBack(101, 'retried', 'retry', 500),
  accept(110, 'running'),
  accept(110, 'handed'),
  accept(110, 'waiting'),
  reject(111, 'refused', { retryAt: 200 }),
  start(200, 'running'),
]
const counts = { admitted: 5, waiting: 1, handed: 1, running: 1, retrying: 1, ended: 1 }
const messages = (history: HistoryEvent[]) => {
  const breaches = checkHistory(history, { unfinished: true })
  expect(breaches.every(({ law, at }) => law === 'L9' && at === 300_000)).toBe(true)
  return breaches.map(({ message }) => message)
}

test('an audit that equals the history conforms, and so does the empty one', () => {
  expect(messages([...five, audit(300, counts)])).toEqual([])
  expect(messages([audit(300, {})])).toEqual([])
})

test('waiting, handed and retrying are not distinguished', () => {
  expect(messages([...five, audit(300, { ...counts, handed: 3, waiting: 0, retrying: 0 })])).toEqual([])
})

test('an audit that does not balance breaks L9 with its numbers', () => {
  expect(messages([...five, audit(300, { ...counts, waiting: 2 })])).toEqual([
    'the audit at 0.300000 s counts 5 admitted, expected 6: 2 waiting + 1 handed + 1 running + 1 retrying + 1 ended',
  ])
})

test('an audit that balances and differs from the history breaks L9', () => {
  expect(messages([...five, audit(300, { ...counts, admitted: 6, waiting: 2 })])).toEqual([
    'the audit at 0.300000 s counts 6 admitted, expected 5 by the history',
  ])
  expect(messages([...five, audit(300, { ...counts, ended: 2, waiting: 0 })])).toEqual([
    'the audit at 0.300000 s counts 2 ended, expected 1 by the history',
  ])
  expect(messages([...five, audit(300, { ...counts, running: 2, waiting: 0 })])).toEqual([
    'the audit at 0.300000 s counts 2 running, expected 1 by the history',
  ])
  expect(messages([...five, audit(300, { ...counts, retrying: 2, waiting: 0 })])).toEqual([
    'the audit at 0.300000 s counts 2 retrying, expected at most 1 by the history',
  ])
})

test('a job hit by a fault may count as running, waiting, handed or retrying, as nothing else', () => {
  const hit = [...five, fault(201, 'running')]
  expect(messages([...hit, audit(300, counts)])).toEqual([])
  expect(messages([...hit, audit(300, { ...counts, running: 0, waiting: 2 })])).toEqual([])
  expect(messages([...hit, audit(300, { ...counts, running: 0, retrying: 2 })])).toEqual([])
  expect(messages([...hit, audit(300, { ...counts, running: 2, waiting: 0 })])).toEqual([
    'the audit at 0.300000 s counts 2 running, expected 0 to 1 by the history',
  ])
})
