import { expect, onTestFinished, test } from 'vitest'
import { HandlerTimeoutError } from '../../../src/core/handler-errors.ts'
import type { ClosableHandler } from '../../../src/service/live-worker.ts'
import { Service } from '../../../src/service/service.ts'
import { load, loadNothing } from '../config/config-folder.ts'
import { memorableLog } from './memorable-log.ts'

const HOUR_MS = 3_600_000

/** A service whose handler never ends, and the reasons for which its signals were aborted. */
async function start(text: string) {
  const config = await load(`limits: { '*': '9, 100/s' }\n${text}`)
  const reasons: unknown[] = []
  let onAborted: () => void = () => undefined
  const aborted = new Promise<void>((resolve) => {
    onAborted = resolve
  })
  const handler: ClosableHandler = ({ signal }) =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        reasons.push(signal.reason)
        onAborted()
        resolve(undefined)
      })
    })
  const service = await Service.start({
    config,
    routes: undefined,
    handlerFor: () => handler,
    log: memorableLog().log,
  })
  onTestFinished(() => service.stop({ drain: false }))
  return { service, reasons, aborted }
}

test('a handler takes no longer than the service allows, whatever its job brought', async () => {
  const { service, reasons, aborted } = await start(
    'work: { maxTimeoutMs: 30 }\njobDefaults: { timeoutMs: 20 }\n',
  )
  await service.shaper.enqueue('k', 1, { timeoutMs: HOUR_MS })
  await aborted
  expect(reasons).toMatchObject([{ code: 'handler-timeout', timeoutMs: 30 }])
  expect(reasons[0]).toBeInstanceOf(HandlerTimeoutError)
})

test('the default of jobs holds, where it is longer than the maximum', async () => {
  const { service, reasons, aborted } = await start(
    'work: { maxTimeoutMs: 1 }\njobDefaults: { timeoutMs: 40 }\n',
  )
  await service.shaper.enqueue('k', 1)
  await aborted
  expect(reasons).toMatchObject([{ code: 'handler-timeout', timeoutMs: 40 }])
})

test('it is ten minutes unless the configuration says something else', async () => {
  expect((await loadNothing({})).work.maxTimeoutMs).toBe(600_000)
  const env = { VELVET_ROPE_MAX_JOB_TIMEOUT_MS: '5000' }
  expect((await loadNothing({ env })).work.maxTimeoutMs).toBe(5_000)
})
