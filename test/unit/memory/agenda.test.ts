import { describe, expect, test } from 'vitest'
import * as core from '../../../src/core/bucket.ts'
import { MILLISECOND, SECOND } from '../../../src/core/duration.ts'
import { RuleBook } from '../../../src/core/rule-book.ts'
import { Agenda } from '../../../src/memory/store/agenda.ts'
import { JobRecord } from '../../../src/memory/store/job-record.ts'
import { MemoryBucket } from '../../../src/memory/store/memory-bucket.ts'
import { request } from '../../support/memory-store.ts'

const rule = new RuleBook({ '*': '5, 1/s' }).resolve('a')

function bucketOf(key: string) {
  return new MemoryBucket(key, rule)
}

function join(bucket: MemoryBucket, id: string, deadline = Number.POSITIVE_INFINITY): JobRecord {
  const job = new JobRecord(id, undefined, bucket, request({ deadline }), 0)
  bucket.join(job)
  bucket.waiting += job.cost
  return job
}

describe('departures', () => {
  test('without waiting jobs nothing is ever due', () => {
    const agenda = new Agenda()
    expect([agenda.nextDeparture(true), agenda.nextChore]).toEqual([
      Number.POSITIVE_INFINITY,
      Number.POSITIVE_INFINITY,
    ])
    expect(agenda.dueBucket(1e15, true)).toBeUndefined()
    expect(agenda.takeForgettable(1e15)).toBeUndefined()
    expect(agenda.overdueJob(1e15)).toBeUndefined()
  })

  test('a bucket is due at its slot, not a microsecond before', () => {
    const agenda = new Agenda()
    const bucket = bucketOf('a')
    join(bucket, '1')
    agenda.arm(bucket, 7 * SECOND, 7 * SECOND)
    expect(agenda.nextDeparture(true)).toBe(7 * SECOND)
    expect(agenda.dueBucket(7 * SECOND - 1, true)).toBeUndefined()
    expect(agenda.dueBucket(7 * SECOND, true)).toBe(bucket)
    expect(agenda.slotOf(bucket)).toBe(7 * SECOND)
  })

  test('the bucket with the earliest slot is due first, also after the slot moved', () => {
    const agenda = new Agenda()
    const [a, b] = [bucketOf('a'), bucketOf('b')]
    for (const bucket of [a, b]) join(bucket, bucket.key)
    agenda.arm(a, 1 * SECOND, 1 * SECOND)
    agenda.arm(b, 2 * SECOND, 2 * SECOND)
    expect(agenda.dueBucket(9 * SECOND, true)).toBe(a)
    core.freeze(a, 3 * SECOND)
    agenda.arm(a, 0)
    expect(agenda.dueBucket(9 * SECOND, true)).toBe(b)
    expect(agenda.slotOf(a)).toBe(3 * SECOND)
  })

  test('a paused bucket with jobs is never due, and never forgotten', () => {
    const agenda = new Agenda()
    const bucket = bucketOf('a')
    join(bucket, '1')
    agenda.arm(bucket, 0, 0)
    bucket.paused = true
    agenda.arm(bucket, 0)
    expect([agenda.nextDeparture(true), agenda.nextChore]).toEqual([
      Number.POSITIVE_INFINITY,
      Number.POSITIVE_INFINITY,
    ])
    bucket.paused = false
    agenda.arm(bucket, 5, 5)
    expect(agenda.nextDeparture(true)).toBe(5)
  })
})

describe('forgetting', () => {
  test('an empty bucket may be forgotten when its next has passed, and only once', () => {
    const agenda = new Agenda()
    const bucket = bucketOf('a')
    core.reserve(bucket, 1, 0)
    agenda.arm(bucket, 0)
    expect(agenda.nextChore).toBe(SECOND)
    expect(agenda.takeForgettable(SECOND - 1)).toBeUndefined()
    expect(agenda.takeForgettable(SECOND)).toBe(bucket)
    expect(agenda.takeForgettable(SECOND)).toBeUndefined()
    expect(agenda.nextChore).toBe(Number.POSITIVE_INFINITY)
  })

  test('not while it is frozen, paused, or runs a handler', () => {
    const agenda = new Agenda()
    const bucket = bucketOf('a')
    core.freeze(bucket, 9 * SECOND)
    agenda.arm(bucket, 0)
    expect(agenda.nextChore).toBe(9 * SECOND)
    bucket.running = 1
    agenda.arm(bucket, 0)
    expect(agenda.nextChore).toBe(Number.POSITIVE_INFINITY)
    bucket.running = 0
    bucket.paused = true
    agenda.arm(bucket, 0)
    expect(agenda.takeForgettable(1e12)).toBeUndefined()
  })

  test('not once a job has joined again', () => {
    const agenda = new Agenda()
    const bucket = bucketOf('a')
    agenda.arm(bucket, 0, 0)
    join(bucket, '1')
    agenda.arm(bucket, 0, 0)
    expect(agenda.takeForgettable(1e12)).toBeUndefined()
    expect(agenda.dueBucket(0, true)).toBe(bucket)
  })
})

describe('deadlines', () => {
  test('pass after the tolerance, since a start within it is on time', () => {
    const agenda = new Agenda()
    const late = join(bucketOf('a'), 'late', 2 * SECOND)
    const early = join(bucketOf('b'), 'early', 1 * SECOND)
    const patient = join(bucketOf('c'), 'patient')
    for (const job of [late, early, patient]) agenda.watch(job)
    const passed = 1 * SECOND + 5 * MILLISECOND
    expect(agenda.overdueJob(passed)).toBeUndefined()
    expect(agenda.overdueJob(passed + 1)).toBe(early)
    expect(agenda.nextChore).toBe(passed + 1)
    agenda.unwatch(early)
    agenda.unwatch(early)
    expect(agenda.overdueJob(3 * SECOND)).toBe(late)
    agenda.unwatch(late)
    agenda.unwatch(patient)
    expect(agenda.nextChore).toBe(Number.POSITIVE_INFINITY)
  })
})
