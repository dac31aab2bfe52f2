import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import {
  createForwardHandler,
  type ForwardJob,
  type ForwardPorts,
} from '../../../src/forward/forward-handler.ts'
import type { ForwardSettings } from '../../../src/forward/settings.ts'

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  /** Names and values as they came, one after the other. */
  readonly rawHeaders: readonly string[]
  readonly body: string
}

type Answer = (response: ServerResponse, request: Received, nth: number) => void

/** A third-party server on this machine; closed when the test is over. */
export async function farSide(answer: Answer = (response) => void response.end('ok')) {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = '', url: path = '', headers, rawHeaders } = request
    const call = { method, path, headers, rawHeaders, body: Buffer.concat(chunks).toString() }
    received.push(call)
    answer(response, call, received.length)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return { port, url: `http://127.0.0.1:${port}`, received, server }
}

/** Settings that let a job call `url`, which may be of this machine. */
export function allowing(url: string, more: Partial<ForwardSettings> = {}): ForwardSettings {
  const { origin, hostname } = new URL(url)
  return { allow: [origin], allowPrivate: [hostname], ...more }
}

/** A handler whose connections are gone when the test is over. */
export function forwarder(settings: ForwardSettings, ports: ForwardPorts = {}) {
  const handler = createForwardHandler(settings, { env: {}, ...ports })
  onTestFinished(() => handler.close())
  return handler
}

export function jobOf(data: unknown, more: Partial<ForwardJob> = {}): ForwardJob {
  const job = { id: 'job-1', key: 'api/acme', attempt: 1, fence: 1, data }
  return { ...job, signal: new AbortController().signal, settle: async () => false, ...more }
}

/** What a promise was rejected with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => {
      throw new Error(`expected a rejection, got ${JSON.stringify(value)}`)
    },
    (error: unknown) => error,
  )
}
