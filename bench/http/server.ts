import { serve } from '@hono/node-server'
import { Queue } from 'bullmq'
import { Hono } from 'hono'
import { Redis } from 'ioredis'
import { z } from 'zod'
import type { ServerOrder } from './server-process.ts'

/** What runs in the process of a peer: one route, with the fields and bounds of the body that ours has. */
const { socket, keeps } = JSON.parse(process.argv[2]!) as ServerOrder
const period = z.number().positive().max(31_622_400_000).optional()
const bodySchema = z.strictObject({
  data: z.unknown(),
  id: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,128}$/)
    .optional(),
  cost: z.int().min(1).max(1_000_000_000).optional(),
  deadlineMs: period,
  attempts: z.int().min(1).max(1_000).optional(),
  timeoutMs: period,
})

const queue =
  keeps === 'bullmq'
    ? new Queue('all', { connection: new Redis(socket, { maxRetriesPerRequest: null }) })
    : undefined
const app = new Hono()
app.post('/v1/buckets/:key/jobs', async (context) => {
  const body = bodySchema.safeParse(await context.req.json())
  if (!body.success) return context.json({ error: 'invalid' }, 422)
  const key = context.req.param('key')
  const job = await queue?.add('job', { key, data: body.data.data })
  return context.json({ id: job?.id ?? '0', key }, 202)
})
process.on('disconnect', () => process.exit())
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => {
  process.send!(`http://127.0.0.1:${port}`)
})
