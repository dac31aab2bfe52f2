import { expect, test } from 'vitest'
import { runChild } from '../support/child.ts'

test('a first segment of keys that takes all of the heap that it may leaves room for the jobs of another', async () => {
  const { code, out, err } = await runChild('shared-heap', ['--max-old-space-size=160']).ended
  expect({ code, err }).toEqual({ code: 0, err: '' })
  const { other, waiting, ...hog } = JSON.parse(out)
  for (const way of ['batched', 'enqueued', 'paused', 'frozen', 'metered', 'limited']) {
    expect([way, hog[way][429]]).toEqual([way, expect.any(Number)])
    // None of them fills the heap: what is refused is the share.
    expect([way, hog[way][503]]).toEqual([way, undefined])
  }
  expect(other).toEqual({ 202: expect.any(Number) })
  expect(waiting).toBeGreaterThan(other[202])
})
