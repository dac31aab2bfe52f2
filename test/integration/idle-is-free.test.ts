import { expect, test } from 'vitest'
import { runChild } from '../support/child.ts'

async function measured(name: string, flags: readonly string[] = []) {
  const { out, err, code } = await runChild(name, flags).ended
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return JSON.parse(out)
}

test('a shaper holds a few timers, whatever the number of buckets, and none when all are done', async () => {
  const { before, idle, waiting, running, ended, after } = await measured('timers')
  const none = { timers: 0, active: 0 }
  expect([before, idle, after]).toEqual([none, none, none])
  // One keeps the process, one is set for the earliest of all departures, deadlines and buckets to forget.
  expect(waiting).toEqual({ timers: 2, active: 1 })
  // And one for the handler that will have taken too long first.
  expect(running.timers).toBeLessThanOrEqual(3)
  expect(running.active).toBe(1)
  expect(ended.timers).toBeLessThanOrEqual(1)
  expect(ended.active).toBe(0)
})

test('a million keys that were used once leave nothing behind when their next has passed', async () => {
  const { starts, admitted, ended, liveBuckets, total, growth, resources } = await measured('million', [
    '--expose-gc',
  ])
  expect([starts, admitted, ended]).toEqual([1_020_000, 1_020_000, 1_020_000])
  expect(liveBuckets).toBeGreaterThan(100_000)
  expect([total, resources.filter((type: string) => type === 'Timeout')]).toEqual([0, []])
  // A byte and a half for each key; a bucket that lives takes hundreds.
  expect(growth).toBeLessThan(1_500_000)
})
