import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RuleBook } from '../../../src/core/rule-book.ts'
import type { Retention } from '../../../src/line/options.ts'
import { EndedJobs } from '../../../src/memory/store/ended-jobs.ts'
import { JobRecord } from '../../../src/memory/store/job-record.ts'
import { MemoryBucket } from '../../../src/memory/store/memory-bucket.ts'
import { request } from '../../support/memory-store.ts'

const book = new RuleBook({ '*': '1, 1/s' })

function endedJob(id: string, key: string, at: number, data = '1'): JobRecord {
  const job = new JobRecord(id, undefined, new MemoryBucket(key, book.resolve(key)), request({ data }), 0)
  job.become('handed')
  job.become('running')
  job.end('completed', at)
  return job
}

/** Ends jobs one after the other, a moment apart, and tells which are still known. */
class Ending {
  readonly #ended: EndedJobs
  readonly #known = new Set<string>()
  now = 0

  constructor(retention: Partial<Retention>) {
    const limits = { jobs: 2, time: 0, most: 1_000, ...retention }
    this.#ended = new EndedJobs(limits, ({ id }) => expect(this.#known.delete(id)).toBe(true))
  }

  end(id: string, key: string, data?: string): void {
    this.#known.add(id)
    this.#ended.add(endedJob(id, key, ++this.now, data), this.now)
  }

  get all(): string[] {
    return [...this.#known]
  }

  known(ids: string): string {
    return [...ids].filter((id) => this.#known.has(id)).join('')
  }
}

test('it knows the last ones that ended; the oldest makes room for the newest', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 70 }), (keep, count) => {
      const ending = new Ending({ jobs: keep, time: 0, most: 10 * keep })
      for (let n = 1; n <= count; n++) {
        ending.end(`${n}`, 'a')
        const first = Math.max(1, n - keep + 1)
        expect(ending.all).toEqual(Array.from({ length: n - first + 1 }, (_, index) => `${first + index}`))
      }
    }),
  )
})

describe('each first segment', () => {
  test('has its own: what others end takes nothing from it', () => {
    const ending = new Ending({})
    for (const id of 'abc') ending.end(id, 'one/x')
    for (let n = 0; n < 500; n++) ending.end(`n${n}`, 'two')
    expect(ending.known('abc')).toBe('bc')
  })

  test('keeps more than its last ones while they are young', () => {
    const ending = new Ending({ time: 10 })
    for (const id of 'abcd') ending.end(id, 'one')
    expect(ending.known('abcd')).toBe('abcd')
    ending.now = 11
    ending.end('e', 'one')
    expect(ending.known('abcde')).toBe('cde')
  })

  test('gives up its oldest when all together are too many and it has most', () => {
    const ending = new Ending({ time: 1_000, most: 6 })
    for (const id of 'ab') ending.end(id, 'one')
    for (const id of 'cdefgh') ending.end(id, 'two')
    expect(ending.known('abcdefgh')).toBe('abefgh')
    for (const id of 'ij') ending.end(id, 'three')
    expect(ending.known('abcdefghij')).toBe('abghij')
  })

  test('has a fair part also where each would like more', () => {
    const ending = new Ending({ jobs: 100, most: 9 })
    for (let n = 0; n < 300; n++) ending.end(`${n}`, `s${n % 3}`)
    expect(ending.all.map(Number)).toEqual([291, 292, 293, 294, 295, 296, 297, 298, 299])
  })

  test('counts large data and results as several jobs', () => {
    const ending = new Ending({ jobs: 100, most: 10 })
    ending.end('a', 'one')
    ending.end('b', 'one', 'x'.repeat(5 * 4_096))
    ending.end('c', 'two')
    expect(ending.known('abc')).toBe('abc')
    ending.end('d', 'two', 'x'.repeat(3 * 4_096))
    expect(ending.known('abcd')).toBe('cd')
    // One that has no room for itself is not remembered.
    ending.end('e', 'two', 'x'.repeat(20 * 4_096))
    expect(ending.known('abcde')).toBe('')
  })
})

test('an end forgets a bounded number, and the next ends the others', () => {
  const ending = new Ending({ jobs: 1, time: 1_000 })
  for (let n = 0; n < 500; n++) ending.end(`${n}`, 'one')
  ending.now = 5_000
  ending.end('a', 'one')
  expect(ending.all).toHaveLength(300 + 1)
  for (const id of 'bc') ending.end(id, 'one')
  expect(ending.all).toEqual(['a', 'b', 'c'])
})
