import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { type AccessToken, createHttpApp, serveHttp } from '../../../src/http.ts'
import { Shaper } from '../../../src/index.ts'

export const SECRET = 'tok-5ecret.of~the+reader/0='

/** A token that may do so much; the text to send is `SECRET`. */
export function tokenFor(scope: AccessToken['scopes'][number], ...prefixes: string[]): AccessToken {
  const sha256 = createHash('sha256').update(SECRET).digest('hex')
  return { name: 'ops', sha256, scopes: [scope], prefixes }
}

/** What else the machine does is no reason to refuse what a test asks. */
const NEVER_BUSY = { maxLagMs: 600_000 }

/** The real service around a line in memory, on a port of its own until the test ends. */
export async function openService(limits: Record<string, string>, tokens: readonly AccessToken[] = []) {
  const shaper = new Shaper('sms', { limits, limitsBy: 'app:17' })
  const app = createHttpApp(shaper, { tokens, overload: NEVER_BUSY })
  const server = await serveHttp(app, { port: 0, hasTokens: tokens.length > 0 })
  onTestFinished(async () => {
    await server.close(0)
    await shaper.close()
  })
  return { shaper, url: server.url, close: () => server.close(0) }
}

export interface Asked {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingMessage['headers']
}

/** Another server at an address: answers as given, and records the requests. */
export async function openStranger(answer: (response: ServerResponse) => void) {
  const asked: Asked[] = []
  const server = createServer(({ method, url, headers }, response) => {
    asked.push({ method, url, headers })
    answer(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
