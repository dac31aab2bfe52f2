import { expect, test } from 'vitest'
import { runChild } from '../support/child.ts'

// V8 ends a process that spends most of its time on garbage while four fifths of its old space are in use, so that it depends on the
// machine. What comes is refused when 16 MB of the old space are left: below 80 MB that is earlier.
const OLD_SPACE = '--max-old-space-size=64'

test('a process whose heap is too small for what comes refuses it, lives on, and loses nothing', async () => {
  const { code, out, err } = await runChild('small-heap', [OLD_SPACE]).ended
  expect({ code, err }).toEqual({ code: 0, err: '' })
  const { enqueued, paused, frozen, limited, read, waiting } = JSON.parse(out)
  expect(enqueued[202] + enqueued[503]).toBe(1_200)
  expect(enqueued[503]).toBeGreaterThan(0)
  expect(waiting).toBe(enqueued[202])
  expect(waiting).toBeGreaterThan(0)
  // What takes memory is refused, too, though not all: a collection may make some room in between.
  for (const refused of [paused, frozen, limited]) expect(refused[503]).toBeGreaterThan(0)
  expect(read).toEqual({ 200: 500 })
})
