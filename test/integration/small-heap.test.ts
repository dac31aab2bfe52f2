import { expect, test } from 'vitest'
import { runChild } from '../support/child.ts'

test('a process whose heap is too small for what comes refuses it, lives on, and loses nothing', async () => {
  const { code, out, err } = await runChild('small-heap', ['--max-old-space-size=80']).ended
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
