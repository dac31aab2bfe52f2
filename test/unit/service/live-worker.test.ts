import { expect, test } from 'vitest'
import { type ClosableHandler, LiveWorker } from '../../../src/service/live-worker.ts'
import { Stage } from '../../support/stage.ts'

/** A handler that the test ends, and that says when it was closed. */
function slowHandler(name: string, steps: string[]) {
  const ends: (() => void)[] = []
  const handler: ClosableHandler = Object.assign(
    async ({ id }: { readonly id: string }) => {
      steps.push(`${name} began ${id}`)
      await new Promise<void>((resolve) => void ends.push(resolve))
      steps.push(`${name} ended ${id}`)
    },
    { close: async () => void steps.push(`${name} closed`) },
  )
  return { handler, endAll: () => ends.splice(0).forEach((end) => void end()) }
}

test('a running job ends with its own handler, which is closed once, without being waited for', async () => {
  const stage = new Stage('10, 1/s')
  const steps: string[] = []
  const [old, fresh] = [slowHandler('old', steps), slowHandler('new', steps)]
  const worker = new LiveWorker(stage.shaper, {})
  worker.use(old.handler)
  await stage.fill('k', 3)
  await stage.pass(0)
  worker.use(fresh.handler)
  await stage.pass(1_000)
  expect(steps).toEqual(['old began k1', 'old closed', 'new began k2'])
  old.endAll()
  await stage.pass(0)
  expect(steps.slice(3)).toEqual(['old ended k1'])
  fresh.endAll()
  await stage.pass(1_000)
  fresh.endAll()
  await worker.stop()
  await worker.close()
  expect(steps.slice(4)).toEqual(['new ended k2', 'new began k3', 'new ended k3', 'new closed'])
})

test('an unused handler is closed when it is replaced', async () => {
  const stage = new Stage('10, 1/s')
  const steps: string[] = []
  const worker = new LiveWorker(stage.shaper, {})
  worker.use(slowHandler('old', steps).handler)
  worker.use(slowHandler('new', steps).handler)
  await stage.pass(0)
  expect(steps).toEqual(['old closed'])
})

test('a handler that replaces itself stays open', async () => {
  const stage = new Stage('10, 1/s')
  const steps: string[] = []
  const worker = new LiveWorker(stage.shaper, {})
  const { handler } = slowHandler('same', steps)
  worker.use(handler)
  worker.use(handler)
  await stage.pass(0)
  expect(steps).toEqual([])
})

test('without a handler no job departs until there is one', async () => {
  const stage = new Stage('10, 1/s')
  const steps: string[] = []
  const worker = new LiveWorker(stage.shaper, {})
  worker.use(undefined)
  await stage.fill('k', 1)
  await stage.pass(5_000)
  expect(stage.starts).toEqual([])
  worker.use(async ({ id }) => void steps.push(id))
  await stage.pass(0)
  expect(steps).toEqual(['k1'])
  worker.use(undefined)
  await stage.fill('n', 1)
  await stage.pass(5_000)
  expect(steps).toEqual(['k1'])
  worker.use(async ({ id }) => void steps.push(id))
  await stage.pass(0)
  expect(steps).toEqual(['k1', 'n1'])
})

test('errors of a handler are reported', async () => {
  const stage = new Stage('10, 1/s')
  const worker = new LiveWorker(stage.shaper, {})
  worker.use(() => {
    throw new Error('no')
  })
  await stage.fill('k', 1)
  await stage.pass(0)
  expect(stage.emitted).toEqual([['failed', 'k1', 0]])
})
