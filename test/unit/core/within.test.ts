import { once } from 'node:events'
import { MessageChannel } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { countDown, settlesWithin, within } from '../../../src/core/within.ts'
import { eventually, pass } from '../../support/patience.ts'

/** Keeps the event loop from everything else. */
function block(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

test('a reply that is ready counts, however long the turn of the event loop was', async () => {
  const { port1, port2 } = new MessageChannel()
  const within = settlesWithin(1, once(port1, 'message'))
  port2.postMessage('an answer')
  block(50)
  expect(await within).toBe(true)
  port1.close()
})

test('work that fails has settled; work that continues has not', async () => {
  expect(await settlesWithin(60_000, Promise.reject(new Error('it failed')))).toBe(true)
  expect(await settlesWithin(1, new Promise(() => undefined))).toBe(false)
})

test('a turn of the event loop counts for at most a tenth of a second', async () => {
  let isOver = false
  const stop = countDown(150, () => {
    isOver = true
  })
  block(400)
  await pass(1)
  expect(isOver).toBe(false)
  await eventually(() => expect(isOver).toBe(true))
  stop()
})

test('a cancelled callback is not called, even if its time has just passed', async () => {
  let calls = 0
  const stop = countDown(1, () => calls++)
  await new Promise((resolve) => setTimeout(resolve, 5))
  countDown(1, () => calls++)()
  stop()
  const before = calls
  await pass(20)
  expect(calls).toBe(before)
})

test('work that takes too long rejects with the given error', async () => {
  expect(await within(60_000, Promise.resolve('an answer'), () => new Error('late'))).toBe('an answer')
  await expect(within(1, new Promise(() => undefined), () => new Error('late'))).rejects.toThrow('late')
})
