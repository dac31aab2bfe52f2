import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RuleBook } from '../../../src/core/rule-book.ts'
import { JobRecord } from '../../../src/memory/store/job-record.ts'
import { idOfSlot, KnownJobs } from '../../../src/memory/store/known-jobs.ts'
import { MemoryBucket } from '../../../src/memory/store/memory-bucket.ts'
import { request } from '../../support/memory-store.ts'

const bucket = new MemoryBucket('a', new RuleBook({ '*': '1, 1/s' }).resolve('a'))

function named(id: string): JobRecord {
  return new JobRecord(id, undefined, bucket, request({ id }), 0)
}

function unnamed(jobs: KnownJobs): JobRecord {
  const slot = jobs.takeSlot()
  return new JobRecord(idOfSlot(slot), slot, bucket, request(), 0)
}

test('it does whatever a map by id does', () => {
  const step = fc.oneof(
    fc.constant('named' as const),
    fc.constant('unnamed' as const),
    fc.constant('unnamed' as const),
    fc.nat(),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100, size: 'max' }), (steps) => {
      const jobs = new KnownJobs()
      const model = new Map<string, JobRecord>()
      const gone: string[] = []
      for (const [index, step] of steps.entries()) {
        if (typeof step === 'number') {
          const leaver = [...model.values()][step % Math.max(1, model.size)]
          if (leaver === undefined) continue
          jobs.delete(leaver)
          model.delete(leaver.id)
          gone.push(leaver.id)
        } else {
          const job = step === 'named' ? named(`job${index}`) : unnamed(jobs)
          jobs.add(job)
          model.set(job.id, job)
        }
        for (const [id, job] of model) expect(jobs.get(id)).toBe(job)
        for (const id of gone) expect(jobs.get(id)).toBeUndefined()
      }
    }),
    { numRuns: 100 },
  )
})

test('of many jobs, those that are left are found, and the slots of the others are taken again', () => {
  const jobs = new KnownJobs()
  const all = Array.from({ length: 10_000 }, () => {
    const job = unnamed(jobs)
    jobs.add(job)
    return job
  })
  const left = all.filter((_, index) => index % 2_500 === 17)
  for (const job of all) if (!left.includes(job)) jobs.delete(job)
  for (const job of left) expect(jobs.get(job.id)).toBe(job)
  for (const job of all) if (!left.includes(job)) expect(jobs.get(job.id)).toBeUndefined()
  const taken = Array.from({ length: 10_000 - left.length }, () => jobs.takeSlot())
  const slots = [...taken, ...left.map(({ slot }) => slot!)]
  expect(new Set(slots).size).toBe(10_000)
  expect(Math.max(...slots)).toBeLessThan(10_240)
})

test('a page of slots in which no job stands any more is dropped, and comes again when slots are needed', () => {
  const jobs = new KnownJobs()
  const add = (count: number) => {
    return Array.from({ length: count }, () => {
      const job = unnamed(jobs)
      jobs.add(job)
      return job
    })
  }
  const all = add(10_240)
  expect(jobs.pages).toBe(10)
  const [first, ...others] = all
  for (const job of others) jobs.delete(job)
  expect(jobs.pages).toBe(1)
  expect(jobs.get(first!.id)).toBe(first)
  const again = add(10_239)
  expect(jobs.pages).toBe(10)
  for (const job of [first!, ...again]) jobs.delete(job)
  expect(jobs.pages).toBe(0)
})

test('ids that it gives are never the same, and hold to the alphabet of ids', () => {
  const ids = Array.from({ length: 10_000 }, () => idOfSlot(7))
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.every((id) => /^[0-9a-f]{32}$/.test(id))).toBe(true)
})

test('an id in the format of a generated one matches no job', () => {
  const jobs = new KnownJobs()
  const job = unnamed(jobs)
  jobs.add(job)
  const forged = `${'0'.repeat(24)}${job.id.slice(24)}`
  const odd = [
    forged,
    'f'.repeat(32),
    '0'.repeat(32),
    `${'0'.repeat(24)}-0000001`,
    'x'.repeat(32),
    '',
    'length',
  ]
  for (const id of odd) expect(jobs.get(id)).toBeUndefined()
  const namesake = named(forged)
  jobs.add(namesake)
  expect([jobs.get(forged), jobs.get(job.id)]).toEqual([namesake, job])
})
