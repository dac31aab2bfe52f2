import { expect, test } from 'vitest'
import { SECOND } from '../../../src/core/duration.ts'
import { COMPLETED, request, storeWith } from '../../support/memory-store.ts'

test.each([
  ['999, 99/s', 'which has no quota'],
  ['999, 99/s, 500 tokens/hour 7 each', 'which has one, too'],
])('a turn whose bucket is forgotten corrects the share of an inner total "%s", %s', (inner) => {
  const limits = { '*': '99, 100/s', 'a/': '999, 10/s, 3600 tokens/hour 5 each', 'a/b/': inner }
  const store = storeWith(limits)
  store.admit(request({ id: '~c~1', key: 'a/b/x', isTurn: true, costs: { tokens: 40 } }), SECOND)
  const job = store.claim(SECOND)!
  const slot = store.starts.gate(job, SECOND)
  store.starts.began(job, slot, { calledAt: SECOND, returnedAt: SECOND, delay: 0 })
  store.finish(job, COMPLETED, SECOND)
  // What lives below the inner total keeps it.
  store.admit(request({ id: 'y', key: 'a/b/y' }), 2 * SECOND)
  while (store.forget(9 * SECOND) > 0);
  expect(job.bucket.isKept).toBe(false)
  const { total } = job.shared![0]!
  const before = total.tag
  expect(store.starts.settle(job, { tokens: 10 }, 9 * SECOND)).toBe(true)
  // A token of 3,600 an hour takes as much as ten units of 10/s.
  expect(before - total.tag).toBeCloseTo(300, 6)
})
