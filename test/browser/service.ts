import { onTestFinished } from 'vitest'
import type { AccessToken } from '../../src/http/access.ts'
import { serveHttp } from '../../src/http/server.ts'
import { createHttpApp, openDashboard } from '../../src/http.ts'
import { Shaper, type ShaperOptions } from '../../src/index.ts'

/** A shaper behind the API and its page. */
export async function openService(
  limits: ShaperOptions['limits'],
  { tokens = [] }: { readonly tokens?: readonly AccessToken[] } = {},
) {
  const shaper = new Shaper('demo', { limits, limitsBy: 'app:17' })
  const app = createHttpApp(shaper, {
    dashboard: openDashboard(),
    tokens,
    snapshotMs: 250,
    version: '1.2.3',
    overload: { maxLagMs: 600_000 },
  })
  const server = await serveHttp(app, { host: '127.0.0.1', port: 0, hasTokens: tokens.length > 0 })
  onTestFinished(async () => {
    app.endStreams()
    await server.close(0)
    await shaper.close()
  })
  return { shaper, url: server.url }
}

/** Enqueues this many jobs for the key without a pause. */
export function enqueueJobs(shaper: Shaper, key: string, jobs: number): Promise<unknown> {
  return shaper.enqueueMany(Array.from({ length: jobs }, () => ({ key, data: null })))
}
