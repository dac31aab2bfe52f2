import { setTimeout as passMs } from 'node:timers/promises'
import { z } from '@hono/zod-openapi'
import { ETAG, jsonContent, NOT_MODIFIED } from '../operation.ts'
import { answerPage, prefersHtml } from '../page-file.ts'
import { Problem, reducedCapacity } from '../problem.ts'
import { assertEveryKey } from '../rights.ts'
import type { Route, RouteContext } from '../route.ts'

const LONGEST_CHECK_MS = 2_000
const SYSTEM_LINKS = {
  description: '/openapi.json',
  metrics: '/metrics',
  health: '/healthz',
  readiness: '/readyz',
}
const LINKS = {
  buckets: '/v1/buckets',
  limits: '/v1/limits',
  events: '/v1/events',
  session: '/v1/session',
  ...SYSTEM_LINKS,
}
const linksSchema = z
  .strictObject({ name: z.string(), links: z.record(z.string(), z.string()) })
  .openapi('Links')
const statusSchema = z.strictObject({ status: z.enum(['ok', 'ready']) }).openapi('Status')

export function systemRoutes(
  { shaper, settings }: RouteContext,
  describeApi: () => Uint8Array<ArrayBuffer>,
): Route[] {
  const { isDraining, readiness = () => shaper.ready(), metrics, routes } = settings
  const links = routes === 'all' ? LINKS : SYSTEM_LINKS
  const page = routes === 'all' ? settings.dashboard?.get('/') : undefined
  return [
    {
      method: 'get',
      path: '/healthz',
      isExempt: true,
      summary: 'Check whether the process is alive',
      answers: { 200: { description: 'The process is alive.', ...jsonContent(statusSchema) } },
      problems: [],
      answer: ({ context }) => context.json({ status: 'ok' }),
    },
    {
      method: 'get',
      path: '/readyz',
      isExempt: true,
      summary:
        'Check whether jobs are accepted: the store and its rule book are available, and the service is not shutting down',
      answers: { 200: { description: 'Jobs are accepted.', ...jsonContent(statusSchema) } },
      problems: [],
      answer: async ({ context }) => {
        if (isDraining()) throw reducedCapacity('the service is shutting down', 5)
        if (!(await resolvesInTime(readiness))) throw reducedCapacity('the service is not ready')
        return context.json({ status: 'ready' })
      },
    },
    {
      method: 'get',
      path: '/metrics',
      scope: 'read',
      isExempt: true,
      summary: 'Get metrics for Prometheus; needs a token for every key where the service has tokens',
      answers: { 200: { description: 'The metrics.', content: { 'text/plain': { schema: z.string() } } } },
      problems: metrics === undefined ? ['not-found'] : [],
      answer: async ({ context, principal }) => {
        // Patterns may be names of customers.
        assertEveryKey(principal, 'the metrics')
        if (metrics === undefined) throw new Problem('not-found', { detail: 'this service has no metrics' })
        const { contentType, text } = await metrics()
        return context.body(text, 200, { 'Content-Type': contentType })
      },
    },
    {
      method: 'get',
      path: '/',
      ...(page && { isExempt: true as const }),
      summary: `List the main paths${page === undefined ? '' : '; or, for clients that prefer HTML, the dashboard'}`,
      answers:
        page === undefined
          ? { 200: { description: 'Links.', ...jsonContent(linksSchema) } }
          : {
              200: {
                description: 'Links, or the page.',
                headers: ETAG,
                content: { ...jsonContent(linksSchema).content, [page.contentType]: { schema: z.string() } },
              },
              304: NOT_MODIFIED,
            },
      problems: [],
      answer: ({ context }) => {
        if (page === undefined) return context.json({ name: 'velvet-rope', links })
        if (prefersHtml(context)) return answerPage(context, page)
        return context.json({ name: 'velvet-rope', links }, 200, { Vary: 'Accept' })
      },
    },
    {
      method: 'get',
      path: '/openapi.json',
      summary: 'Get this description',
      answers: { 200: { description: 'OpenAPI 3.1.', ...jsonContent(z.looseObject({})) } },
      problems: [],
      // The same bytes for every answer, so that answers that wait to be sent take no memory.
      answer: () => {
        const description = describeApi()
        const headers = {
          'Content-Type': 'application/json',
          'Content-Length': String(description.byteLength),
        }
        return new Response(description, { headers })
      },
    },
  ]
}

/** Whether the check resolves in time. The reason is not answered: it may hold an address. */
async function resolvesInTime(check: () => Promise<void>): Promise<boolean> {
  const ready = check().then(
    () => true,
    () => false,
  )
  const late = new AbortController()
  try {
    return await Promise.race([ready, passMs(LONGEST_CHECK_MS, false, { signal: late.signal })])
  } finally {
    late.abort()
  }
}
