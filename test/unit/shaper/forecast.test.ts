import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Stage } from '../../support/stage.ts'

const step = fc.record({
  key: fc.constantFrom('a', 'b'),
  cost: fc.integer({ min: 1, max: 4 }),
  afterMs: fc.integer({ min: 0, max: 700 }),
  next: fc.constantFrom('nothing', 'freeze', 'pause', 'resume', 'cancel', 'limit'),
})

test('it is what enqueue returns, whatever happened before, and changes nothing', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.boolean(), async (steps, isFailing) => {
      const stage = new Stage('3, 2/s', { jobDefaults: { attempts: 2, backoff: 300 } })
      const { shaper } = stage
      shaper.work((job) => {
        if (isFailing && job.fence % 2 === 0) throw new Error('as planned')
      })
      for (const { key, cost, afterMs, next } of steps) {
        await stage.pass(afterMs)
        const before = [await shaper.audit(), await shaper.buckets()]
        const forecast = await shaper.forecast(key, cost)
        expect([await shaper.audit(), await shaper.buckets()]).toEqual(before)
        const admission = await shaper.enqueue(key, null, { cost })
        expect(forecast).toEqual(admission.accepted ? { ...admission, id: '' } : admission)
        if (next === 'freeze') await shaper.freeze(key, 400)
        if (next === 'pause' || next === 'resume') await shaper[next](key)
        if (next === 'cancel' && admission.accepted) await shaper.cancel(admission.id)
        if (next === 'limit') await shaper.limits.set(key, '2, 3/s')
      }
      for (const key of ['a', 'b']) await shaper.resume(key)
      await stage.pass(60_000)
      await stage.conforms()
    }),
    { numRuns: 150 },
  )
})

test('a key that was never used departs immediately, and is not remembered for being asked', async () => {
  const { shaper } = new Stage('3, 2/s')
  const place = { accepted: true, id: '', key: 'k', position: 1, departsAt: 0, waitMs: 0 }
  expect(await shaper.forecast('k')).toEqual({ ...place, waiting: 1, capacity: 3 })
  expect(await shaper.forecast('k', 3)).toEqual({ ...place, waiting: 3, capacity: 3 })
  expect(await shaper.forecast('k', 4)).toMatchObject({ accepted: false, reason: 'too-costly' })
  expect(await shaper.inspect('k')).toBeUndefined()
  expect(await shaper.buckets()).toEqual({ buckets: [], total: 0 })
})
