import { expect, test } from 'vitest'
import { runChild } from '../support/child.ts'

test('a process with jobs in line stays until the last of them has ended, and then exits by itself', async () => {
  const { code, signal, out, err } = await runChild('works').ended
  expect({ code, signal, out, err }).toEqual({ code: 0, signal: null, out: 'done 10\n', err: '' })
})

test('one with jobs and no worker stays until it is killed', async () => {
  const child = runChild('waits')
  await child.said('waits')
  let isOver = false
  void child.ended.then(() => {
    isOver = true
  })
  // Long enough for a process that has nothing to stay for to have gone.
  await runChild('idles').ended
  expect(isOver).toBe(false)
  child.kill('SIGTERM')
  expect(await child.ended).toMatchObject({ code: null, signal: 'SIGTERM', err: '' })
})

test('one without jobs exits immediately, though it has a shaper, a worker, and buckets', async () => {
  expect(await runChild('idles').ended).toEqual({ code: 0, signal: null, out: 'exits\n', err: '' })
})

test('one that closed its worker while Redis was away exits', async () => {
  const { code, out, err } = await runChild('closes-away').ended
  expect({ code, out, err }).toEqual({ code: 0, out: 'closed\n', err: '' })
})

test('a wait in Redis that was stopped while Redis was away leaves no timer', async () => {
  const { code, out, err } = await runChild('blocks-away').ended
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toBe('Redis is unavailable: the connection was closed\n0\n')
})

test('a watched configuration keeps no process alive, and neither does a change that is still to be reported', async () => {
  expect(await runChild('watches').ended).toEqual({ code: 0, signal: null, out: 'watching\n', err: '' })
})

test('log lines go to standard error, written before the process ends, and nothing to standard output', async () => {
  const { code, out, err } = await runChild('logs').ended
  expect({ code, out }).toEqual({ code: 3, out: '' })
  const messages = err
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).message)
  expect(messages).toEqual(Array.from({ length: 1000 }, (_, n) => `line ${n}`))
})
