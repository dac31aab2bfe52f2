import { expect, onTestFinished, test } from 'vitest'
import { Shaper } from '../../src/index.ts'
import { eventually } from '../support/patience.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'

const JOBS = 5

function withResolvers() {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>((onResolve) => {
    resolve = onResolve
  })
  return { promise, resolve }
}

test('a process with the only scheduler hands over until its own handlers have ended', async () => {
  const options = { limits: { '*': '99, 50/s' }, connection: redisAddress(), prefix: uniquePrefix() }
  const [only, other] = [new Shaper('line', options), new Shaper('line', options)]
  let release: (() => void) | undefined
  onTestFinished(async () => {
    release?.()
    await Promise.all([only.close(), other.close()])
  })
  only.work(() => {
    const { promise, resolve } = withResolvers()
    release = resolve
    return promise
  })
  await only.enqueue('long', 0)
  await eventually(() => expect(release).toBeDefined())
  const done: unknown[] = []
  other.work(({ data }) => void done.push(data), { scheduler: false })
  await other.ready()
  let isClosed = false
  const closed = only.close().then(() => {
    isClosed = true
  })
  for (let data = 0; data < JOBS; data++) await other.enqueue('short', data)
  await eventually(() => expect(done).toHaveLength(JOBS))
  expect(isClosed).toBe(false)
  release?.()
  await closed
  expect(await other.audit()).toMatchObject({ ended: JOBS + 1, waiting: 0, handed: 0, running: 0 })
})
