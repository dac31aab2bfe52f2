import { expect, test } from 'vitest'
import { SECOND } from '../../../src/core/duration.ts'
import type { Rank, Withheld } from '../../../src/core/handler-shares.ts'
import { firstSegment } from '../../../src/core/key.ts'
import { RuleBook } from '../../../src/core/rule-book.ts'
import { Agenda } from '../../../src/memory/store/agenda.ts'
import { JobRecord } from '../../../src/memory/store/job-record.ts'
import { MemoryBucket } from '../../../src/memory/store/memory-bucket.ts'
import { request } from '../../support/memory-store.ts'

const rule = new RuleBook({ '*': '5, 1/s' }).resolve('a')

/** An agenda with one job in each bucket, the first due at second 1. The pool refuses some, and every question is noted. */
function agendaWith(...keys: string[]) {
  const agenda = new Agenda()
  const asked: string[] = []
  const refused = new Map<string, Rank | Withheld>()
  const pool = {
    ask: (key: string) => {
      asked.push(key)
      return refused.get(key) ?? refused.get(`${firstSegment(key)}/`) ?? 0
    },
  }
  const buckets = new Map<string, MemoryBucket>()
  const add = (key: string, due: number) => {
    const bucket = new MemoryBucket(key, rule)
    bucket.join(new JobRecord(key, undefined, bucket, request({}), 0))
    buckets.set(key, bucket)
    agenda.arm(bucket, due * SECOND, due * SECOND)
    return bucket
  }
  keys.forEach((key, index) => void add(key, index + 1))
  /** The key of the bucket that may depart at the second, which then does. */
  const depart = (second: number) => {
    const bucket = agenda.dueBucket(second * SECOND, true, pool)
    if (bucket === undefined) return undefined
    bucket.takeNext(0)
    bucket.running++
    agenda.arm(bucket, 0)
    return bucket.key
  }
  const questions = () => asked.splice(0)
  return { agenda, refused, add, depart, questions, buckets }
}

test('a segment that is refused asks once for all of its buckets, whenever handlers become free', () => {
  const keys = Array.from({ length: 500 }, (_, index) => `crowd/${index}`)
  const { agenda, refused, depart, questions } = agendaWith(...keys, 'calm')
  refused.set('crowd/', 'segment')
  expect(depart(1_000)).toBe('calm')
  expect(questions()).toHaveLength(501)
  for (let round = 0; round < 20; round++) {
    agenda.letIn(0)
    expect(depart(1_000)).toBeUndefined()
    expect(questions()).toEqual(['crowd/0'])
  }
})

test('its buckets depart in the order of their slots, also between others, and new ones with them', () => {
  const { agenda, refused, depart, questions, add } = agendaWith('s/1', 'a', 's/3', 'b', 's/5')
  refused.set('s/', 'segment')
  expect([depart(9), depart(9), depart(9)]).toEqual(['a', 'b', undefined])
  questions()
  // Put with the others of its segment at once.
  add('s/early', 0)
  add('c', 4)
  expect(depart(9)).toBe('c')
  expect(questions()).toEqual(['c'])
  add('d', 4)
  refused.clear()
  agenda.letIn(0)
  const order = Array.from({ length: 6 }, () => depart(9))
  expect(order).toEqual(['s/early', 's/1', 's/3', 'd', 's/5', undefined])
  expect(agenda.nextDeparture(true)).toBe(Number.POSITIVE_INFINITY)
})

test('segments go by rank, and those of one rank by their slots', () => {
  const { refused, depart, agenda, questions } = agendaWith(
    'more/1',
    'more/2',
    'share/1',
    'share/2',
    'less/1',
    'later',
  )
  refused.set('more/', 2).set('share/', 1)
  expect(depart(5)).toBe('less/1')
  expect([depart(5), depart(5)]).toEqual(['share/1', 'share/2'])
  // It waits for the one that is due later as little as it waits for one that is not there.
  expect(depart(5)).toBe('more/1')
  expect(depart(6)).toBe('later')
  questions()
  agenda.letIn(0)
  expect(depart(6)).toBe('more/2')
  expect(questions()).toEqual(['more/2', 'more/2'])
})

test('a segment whose rank has changed goes by the new one, and one that is refused then waits', () => {
  const { refused, depart, agenda } = agendaWith('a/1', 'b/1', 'a/2', 'b/2')
  refused.set('a/', 2).set('b/', 1)
  expect(depart(9)).toBe('b/1')
  refused.set('b/', 2)
  expect(depart(9)).toBe('a/1')
  refused.set('a/', 'segment')
  expect(depart(9)).toBe('b/2')
  expect(depart(9)).toBeUndefined()
  refused.set('a/', 1)
  expect(depart(9)).toBeUndefined()
  agenda.letIn(0)
  expect(depart(9)).toBe('a/2')
})

test('a segment whose buckets have all departed or left begins anew', () => {
  const { agenda, refused, depart, buckets, add } = agendaWith('s/0', 's/1')
  refused.set('s/', 'segment')
  expect(depart(9)).toBeUndefined()
  expect(agenda.nextDeparture(true)).toBe(Number.POSITIVE_INFINITY)
  for (const bucket of buckets.values()) {
    bucket.paused = true
    agenda.arm(bucket, 0)
  }
  refused.clear()
  agenda.letIn(0)
  expect(depart(9)).toBeUndefined()
  add('s/2', 3)
  expect(depart(9)).toBe('s/2')
})

test('a key that is refused is held back alone, and tries again when handlers become free or after a second', () => {
  const { agenda, refused, depart, questions } = agendaWith('s/0', 's/1', 's/2')
  refused.set('s/0', 'key')
  expect([depart(9), depart(9), depart(9)]).toEqual(['s/1', 's/2', undefined])
  expect(questions()).toEqual(['s/0', 's/1', 's/2'])
  expect(agenda.nextChore).toBe(10 * SECOND)
  expect(depart(9.9)).toBeUndefined()
  expect(questions()).toEqual([])
  expect(depart(10)).toBeUndefined()
  expect(questions()).toEqual(['s/0'])
  refused.clear()
  agenda.letIn(0)
  expect(depart(10)).toBe('s/0')
})

test('a key that is held back when its segment is refused, too, waits with the others', () => {
  const { agenda, refused, depart, questions } = agendaWith('s/0', 's/1')
  refused.set('s/0', 'key').set('s/', 'segment')
  expect(depart(9)).toBeUndefined()
  refused.delete('s/0')
  agenda.letIn(0)
  questions()
  expect(depart(9)).toBeUndefined()
  // Either asks once for both.
  expect(questions()).toHaveLength(1)
  refused.clear()
  agenda.letIn(0)
  expect([depart(9), depart(9)]).toEqual(['s/0', 's/1'])
})

test('one search puts a thousand buckets aside at most, and the next goes on', () => {
  const keys = Array.from({ length: 2_500 }, (_, index) => `crowd/${index}`)
  const { agenda, refused, depart, questions } = agendaWith(...keys, 'calm')
  refused.set('crowd/', 'segment')
  expect(depart(9_999)).toBeUndefined()
  expect(questions()).toHaveLength(1_000)
  // The scheduler comes back at once.
  expect(agenda.nextDeparture(true)).toBeLessThan(9_999 * SECOND)
  expect(depart(9_999)).toBeUndefined()
  expect(depart(9_999)).toBe('calm')
  expect(questions()).toHaveLength(1_501)
})
