import { expect, test } from 'vitest'
import { Standstills, StartWatch } from '../../../src/line/start-watch.ts'

const MS = 1_000

test('what the last sixteen calls of a key took at least is its own computing', () => {
  const watch = new StartWatch()
  for (let n = 0; n < 16; n++) expect(watch.possibleDelay('k', 3 * MS + n)).toBe(3 * MS + n)
  expect(watch.possibleDelay('k', 5 * MS)).toBe(2 * MS)
  expect(watch.possibleDelay('k', 2 * MS)).toBe(0)
  expect(watch.possibleDelay('k', 5 * MS)).toBe(3 * MS)
})

test('after a short call nothing is known of the key', () => {
  const watch = new StartWatch()
  for (let n = 0; n < 17; n++) watch.possibleDelay('k', 3 * MS)
  expect(watch.possibleDelay('k', 0.5 * MS)).toBe(0.5 * MS)
  expect(watch.possibleDelay('k', 3 * MS)).toBe(3 * MS)
})

test('a key says nothing about another', () => {
  const watch = new StartWatch()
  for (let n = 0; n < 17; n++) watch.possibleDelay('busy', 3 * MS)
  expect(watch.possibleDelay('calm', 3 * MS)).toBe(3 * MS)
  expect(watch.possibleDelay('busy', 3 * MS)).toBe(0)
})

test('beyond a thousand keys, the one called longest ago is forgotten first', () => {
  const watch = new StartWatch()
  for (const key of ['old', 'young']) for (let n = 0; n < 17; n++) watch.possibleDelay(key, 3 * MS)
  for (let n = 0; n < 998; n++) watch.possibleDelay(`k${n}`, 3 * MS)
  expect(watch.possibleDelay('old', 3 * MS)).toBe(0)
  watch.possibleDelay('one more', 3 * MS)
  expect([watch.possibleDelay('old', 3 * MS), watch.possibleDelay('young', 3 * MS)]).toEqual([0, 3 * MS])
})

test('a process stands still for the time in which it neither computes nor waits, and is not asked for it again so soon', () => {
  let [now, used, asked] = [0, 0, 0]
  const standstills = new Standstills(
    () => now,
    () => {
      asked++
      return used
    },
  )
  const first = standstills.lately()
  now += 0.2 * MS
  expect(standstills.lately()).toBe(first)
  expect(asked).toBe(1)
  const looked = now
  // What it waited before counts for no more than what passed since.
  expect(standstills.since(first, looked, now + 0.01 * MS)).toBe(0.01 * MS)
  // It computes for 3 of 8 milliseconds.
  now += 8 * MS
  used += 3 * MS
  expect(standstills.since(first, looked, now)).toBe(5.2 * MS)
  const second = standstills.lately()
  expect(second).not.toBe(first)
  expect(standstills.since(second, now, now)).toBe(0)
})
