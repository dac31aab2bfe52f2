import { expect, test } from 'vitest'
import { checkHistory } from '../../../src/conformance/conformance.ts'
import { accept, end, fault, giveBack, limit, quota, reject, start } from '../../support/history.ts'

const open = { unfinished: true }

test('as many cost units as the capacity may wait', () => {
  const history = [limit(0, '3, 10/s'), accept(0, 'x', { cost: 2 }), accept(1, 'y')]
  expect(checkHistory(history, open)).toEqual([])
})

test('an acceptance beyond the capacity breaks L1 with its numbers', () => {
  const history = [limit(0, '3, 10/s'), accept(0, 'x', { cost: 2 }), accept(1, 'y', { cost: 2 })]
  expect(checkHistory(history, open)).toEqual([
    {
      law: 'L1',
      at: 1_000,
      key: 'a',
      id: 'y',
      message:
        'key "a": the acceptance of job "y" (cost 2) at 0.001000 s made 4 cost units wait, expected at most 3',
    },
  ])
})

test('a job that started, or left the line, makes room', () => {
  const history = [
    limit(0, '1, 10/s'),
    accept(0, 'x'),
    start(0, 'x'),
    accept(1, 'y'),
    end(2, 'y', 'cancelled'),
    accept(3, 'z'),
    end(4, 'z', 'expired'),
    accept(5, 'w'),
  ]
  expect(checkHistory(history, open)).toEqual([])
})

test('a job that waits for a retry counts as waiting', () => {
  const history = [
    limit(0, '1, 10/s'),
    accept(0, 'x'),
    start(0, 'x'),
    giveBack(1, 'x', 'retry', 50),
    accept(2, 'y'),
  ]
  const [breach, ...rest] = checkHistory(history, open)
  expect(rest).toEqual([])
  expect(breach).toMatchObject({ law: 'L1', id: 'y' })
  expect(breach?.message).toContain('made 2 cost units wait, expected at most 1')
})

test('one key does not take the room of another', () => {
  const history = [
    limit(0, '1, 10/s'),
    limit(0, '1, 10/s', 'b'),
    accept(0, 'x'),
    accept(0, 'y', { key: 'b' }),
  ]
  expect(checkHistory(history, open)).toEqual([])
})

test('an acceptance before the first limit breaks L1', () => {
  const breaches = checkHistory([accept(0, 'x')], open)
  expect(breaches.map(({ law, id }) => [law, id])).toEqual([['L1', 'x']])
  expect(breaches[0]?.message).toContain('made 1 cost units wait, expected a limit before the first job')
})

test('a rejection before the first limit conforms', () => {
  expect(checkHistory([reject(0, 'x', { retryAt: 0 })], open)).toEqual([])
})

test('a rejection as full of a request that fits breaks L1', () => {
  const history = [limit(0, '2, 10/s'), accept(0, 'x'), reject(1, 'y', { retryAt: 0 })]
  expect(checkHistory(history, open)).toEqual([
    {
      law: 'L1',
      at: 1_000,
      key: 'a',
      id: 'y',
      message:
        'key "a": job "y" (cost 1) was refused as full at 0.001000 s while 1 cost units waited, expected room for 2',
    },
  ])
})

test('a rejection as too costly of a cost within the capacity breaks L1, however full the line is', () => {
  const refuse = (cost: number) => reject(1, 'y', { cost, reason: 'too-costly', retryAt: Infinity })
  const breaches = checkHistory([limit(0, '2, 10/s'), accept(0, 'x', { cost: 2 }), refuse(2)], open)
  expect(breaches.map(({ law }) => law)).toEqual(['L1'])
  expect(breaches[0]?.message).toContain('refused as too-costly')
  expect(checkHistory([limit(0, '2, 10/s'), refuse(3)], open)).toEqual([])
})

test('a rejection for a deadline or a pause is not judged by room', () => {
  const history = [
    limit(0, '2, 10/s'),
    reject(0, 'x', { reason: 'deadline', retryAt: 1 }),
    reject(0, 'y', { reason: 'paused', retryAt: 1 }),
  ]
  expect(checkHistory(history, open)).toEqual([])
})

test('a job hit by a fault may or may not take room', () => {
  const hit = [limit(0, '1, 10/s'), accept(0, 'x'), start(0, 'x'), fault(1, 'x')]
  expect(checkHistory([...hit, reject(2, 'y', { retryAt: 100 })], open)).toEqual([])
  expect(checkHistory([...hit, accept(2, 'y')], open)).toEqual([])
})

test('a lowered capacity drops no job and admits none', () => {
  const lowered = [limit(0, '2, 10/s'), accept(0, 'x'), accept(0, 'y'), limit(1, '1, 10/s')]
  expect(checkHistory(lowered, open)).toEqual([])
  expect(checkHistory([...lowered, accept(2, 'z')], open).map(({ law }) => law)).toEqual(['L1'])
})

test('while a change of limit settles, either capacity may decide', () => {
  const lowered = [limit(0, '2, 10/s'), accept(0, 'x'), limit(10, '1, 10/s')]
  const raised = [limit(0, '1, 10/s'), accept(0, 'x'), limit(10, '2, 10/s')]
  const settling = { ...open, settle: 5_000 }
  expect(checkHistory([...lowered, accept(14, 'y')], settling)).toEqual([])
  expect(checkHistory([...lowered, accept(15, 'y')], settling)).toHaveLength(1)
  expect(checkHistory([...raised, reject(14, 'y', { retryAt: 100 })], settling)).toEqual([])
  expect(checkHistory([...raised, reject(15, 'y', { retryAt: 100 })], settling)).toHaveLength(1)
})

test('a job above a whole quota is too costly', () => {
  const rule = limit(0, '9, 10/s', 'a', { quotas: [quota(3, 1_000), quota(100, 1_000, 'tokens', 10)] })
  const refuse = (more: object) => [
    rule,
    reject(1, 'y', { reason: 'too-costly', retryAt: Infinity, ...more }),
  ]
  expect(checkHistory(refuse({ cost: 4 }))).toEqual([])
  expect(checkHistory(refuse({ costs: { tokens: 101 } }))).toEqual([])
  expect(checkHistory(refuse({ cost: 3, costs: { tokens: 100 } })).map(({ law }) => law)).toEqual(['L1'])
})
