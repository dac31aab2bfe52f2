import { expect, test } from 'vitest'
import { Batch } from '../../../../src/redis/slots/batch.ts'

test('where a call answers the first of its requests alone, the others fail and may be asked again', async () => {
  const batch = new Batch<string, boolean>()
  const asked = ['a', 'b', 'c'].map((request) => batch.add(request))
  batch.flush({ most: 50 }, async () => [true])
  expect(await Promise.allSettled(asked)).toMatchObject([
    { status: 'fulfilled', value: true },
    { status: 'rejected', reason: { code: 'backend-unavailable' } },
    { status: 'rejected', reason: { code: 'backend-unavailable' } },
  ])
})
