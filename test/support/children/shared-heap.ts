import { createHash } from 'node:crypto'
import { createHttpApp } from '../../../src/http.ts'
import { Shaper } from '../../../src/index.ts'
import { Meter } from '../../../src/meter.ts'

// The API of lines in memory, with a small heap. One first segment of keys takes what it can, in each way that there is, while another
// enqueues. It prints how each was answered, and what the lines hold.
const limits = { '*': '1000000, 1/h' }
const shaper = new Shaper('small', { limits })
const TOKEN = 'of-tenants'
// Not one of the operator: the share does not bind those where they pause, freeze and limit.
const sha256 = createHash('sha256').update(TOKEN).digest('hex')
const tokens = [{ name: 'tenants', sha256, scopes: ['admin'] as const, prefixes: ['hog', 'other'] }]
const app = createHttpApp(shaper, { meter: new Meter('small', { limits }), lagMs: () => 0, tokens })
/** Long keys fill the heap sooner. */
const LONG = 'x'.repeat(200)
const counts = new Map<string, Record<number, number>>()

async function ask(kind: string, method: string, path: string, body?: object): Promise<number> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` }
  const { status } = await app.request(path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  const known = counts.get(kind) ?? {}
  counts.set(kind, { ...known, [status]: (known[status] ?? 0) + 1 })
  return status
}

/** Each is asked for until it is refused, and then some times more. */
const ways: readonly ((n: number) => Promise<number>)[] = [
  (n) => {
    const jobs = Array.from({ length: 100 }, (_, i) => ({ key: `hog/${n}-${i}`, data: 'x'.repeat(10_000) }))
    return ask('batched', 'POST', '/v1/jobs', { jobs })
  },
  (n) => ask('enqueued', 'POST', `/v1/buckets/hog%2F${n}/jobs`, { data: 'x'.repeat(1_000) }),
  (n) => ask('paused', 'POST', `/v1/buckets/hog%2Fp${n}-${LONG}/pause`),
  (n) => ask('frozen', 'POST', `/v1/buckets/hog%2Ff${n}-${LONG}/freeze`, { forMs: 3_600_000 }),
  (n) => ask('metered', 'POST', `/v1/meters/hog%2F${n}-${LONG}/fill`, { amount: 1 }),
  (n) => ask('limited', 'PUT', `/v1/limits/hog%2F${n}-${LONG}?scope=local`, { limit: '5, 1/s' }),
]

let asked = 0
for (const way of ways) {
  for (let left = 100; left > 0; asked++) {
    const status = await way(asked)
    if (status === 429 || status === 503 || status === 409) left--
    if (asked % 5 === 0) await ask('other', 'POST', '/v1/buckets/other/jobs', { data: 'x'.repeat(1_000) })
    // Requests come over sockets: between two of them the event loop turns.
    await new Promise((resolve) => setImmediate(resolve))
  }
}
const { waiting } = await shaper.audit()
console.log(JSON.stringify({ ...Object.fromEntries(counts), waiting }))
process.exit()
