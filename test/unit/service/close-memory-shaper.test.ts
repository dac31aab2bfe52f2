import { expect, test } from 'vitest'
import { FreezeError } from '../../../src/index.ts'
import { closeMemoryShaper } from '../../../src/service/close-memory-shaper.ts'
import { LiveWorker } from '../../../src/service/live-worker.ts'
import { eventually } from '../../support/patience.ts'
import { Stage } from '../../support/stage.ts'
import { memorableLog } from './memorable-log.ts'

async function busyStage() {
  const stage = new Stage('10, 1/s')
  const worker = new LiveWorker(stage.shaper, {})
  const ends: (() => void)[] = []
  worker.use(() => new Promise<void>((resolve) => void ends.push(resolve)))
  await stage.fill('k', 3)
  await stage.pass(0)
  return { stage, worker, endAll: () => ends.splice(0).forEach((end) => void end()) }
}

test('running jobs end; waiting ones are logged and counted', async () => {
  const { stage, worker, endAll } = await busyStage()
  await stage.shaper.cancel('k2')
  const { log, lines } = memorableLog()
  const left = closeMemoryShaper(stage.shaper, { drain: false, drainMs: 60_000, worker, log })
  endAll()
  await stage.pass(0)
  await left
  expect(stage.emitted).toEqual([
    ['cancelled', 'k2', 0],
    ['completed', 'k1', 0],
    ['cancelled', 'k3', 0],
  ])
  expect(lines).toEqual([
    { level: 'warn', message: 'lost: it was waiting in memory', fields: { id: 'k3', key: 'k' } },
    { level: 'warn', message: expect.stringContaining('--drain'), fields: { jobs: 1 } },
  ])
})

test('a job that runs for too long is not waited for', async () => {
  const { stage, worker } = await busyStage()
  const { log } = memorableLog()
  let isLeft = false
  void closeMemoryShaper(stage.shaper, { drain: false, drainMs: 0, worker, log }).then(() => {
    isLeft = true
  })
  // The deadline is of real time, the shaper's own clock is not.
  await eventually(async () => {
    await stage.pass(1)
    expect(isLeft).toBe(true)
  })
  expect(stage.emitted.map(([event, id]) => `${event} ${id}`).sort()).toEqual([
    'cancelled k2',
    'cancelled k3',
    'failed k1',
  ])
})

test('each job that outlasts the time to drain has one last line, whether it ran, waited or was to be retried', async () => {
  const stage = new Stage('10, 10/s', { jobDefaults: { attempts: 3, backoff: 3_600_000 } })
  const worker = new LiveWorker(stage.shaper, {})
  worker.use(async ({ id }) => {
    if (id === 'k1') throw new Error('as planned')
    if (id === 'k2' && stage.now < 250) throw new FreezeError({ forMs: 200 })
    await new Promise(() => undefined)
  })
  await stage.fill('k', 5)
  await stage.pass(450)
  const { log, lines } = memorableLog()
  let isLeft = false
  void closeMemoryShaper(stage.shaper, { drain: false, drainMs: 0, worker, log }).then(() => {
    isLeft = true
  })
  await eventually(async () => {
    await stage.pass(0)
    expect(isLeft).toBe(true)
  })
  const pairs = lines
    .filter(({ fields }) => 'id' in fields)
    .map(({ fields, message }) => `${fields['id']} ${message.split(':')[0]}`)
  expect(pairs.sort()).toEqual(['k1 lost', 'k2 interrupted', 'k3 interrupted', 'k4 lost', 'k5 lost'])
})

test('draining waits until no job waits', async () => {
  const { stage, worker, endAll } = await busyStage()
  const { log, lines } = memorableLog()
  let isLeft = false
  const left = closeMemoryShaper(stage.shaper, { drain: true, drainMs: 0, worker, log }).then(() => {
    isLeft = true
  })
  for (const _ of ['k1', 'k2', 'k3']) {
    expect(isLeft).toBe(false)
    endAll()
    await stage.pass(1_000)
  }
  await left
  expect(stage.emitted.map(([event, id]) => `${event} ${id}`)).toEqual([
    'completed k1',
    'completed k2',
    'completed k3',
  ])
  expect(lines).toEqual([])
})

test('without waiting jobs nothing is logged', async () => {
  const stage = new Stage('10, 1/s')
  const { log, lines } = memorableLog()
  await closeMemoryShaper(stage.shaper, { drain: false, drainMs: 60_000, worker: undefined, log })
  expect(lines).toEqual([])
})
