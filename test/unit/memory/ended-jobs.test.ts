import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RuleBook } from '../../../src/core/rule-book.ts'
import { EndedJobs } from '../../../src/memory/store/ended-jobs.ts'
import { JobRecord } from '../../../src/memory/store/job-record.ts'
import { MemoryBucket } from '../../../src/memory/store/memory-bucket.ts'
import { request } from '../../support/memory-store.ts'

const bucket = new MemoryBucket('a', new RuleBook({ '*': '1, 1/s' }).resolve('a'))

test('it knows the last ones that ended; the oldest makes room for the newest', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 70 }), (keep, count) => {
      const ended = new EndedJobs(keep)
      const jobs = Array.from(
        { length: count },
        (_, n) => new JobRecord(`${n}`, undefined, bucket, request(), 0),
      )
      for (const [index, job] of jobs.entries()) {
        ended.add(job)
        if (keep > 0) expect(ended.get(job.id)).toBe(job)
        expect(ended.get(`${index - keep}`)).toBeUndefined()
      }
      const known = jobs.filter(({ id }) => ended.get(id) !== undefined)
      expect(known).toEqual(keep === 0 ? [] : jobs.slice(-keep))
    }),
  )
})
