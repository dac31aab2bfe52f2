import { expect, test } from 'vitest'
import { clock, S, scheduler, store, useStage } from './scheduler-stage.ts'

useStage()

test('deliveries are swept while jobs keep expiring, and not only when no more do', async () => {
  const removed = { key: 'k', cost: 1, attempt: 0, at: clock.now() }
  store.deadlines = Array.from({ length: 20 }, (_, n) => ({ ...removed, id: `j${n}` }))
  store.expire = async () => {
    await clock.advance(S)
    return store.deadlines.splice(0, 1)
  }
  const left: number[] = []
  const sweep = async () => {
    left.push(store.deadlines.length)
    return 0
  }
  await scheduler({ sweep, onExpired: () => undefined }).runOnce()
  expect(left).toEqual([19, 17, 15, 13, 11, 9, 7, 5, 3, 1])
})
