import { createHttpApp } from '../../../src/http.ts'
import { Shaper } from '../../../src/index.ts'

// The API of lines in memory, with a heap that is too small for what comes. It prints how it answered, and what the lines hold.
// Each key has a first segment of its own: none has so much that its share is what is refused.
const shaper = new Shaper('small', { limits: { '*': '100000, 1/h' } })
const app = createHttpApp(shaper, { lagMs: () => 0 })
const data = 'x'.repeat(60_000)
const counts = new Map<string, Record<number, number>>()

async function ask(kind: string, method: string, path: string, body?: object): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const { status } = await app.request(path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  const known = counts.get(kind) ?? {}
  counts.set(kind, { ...known, [status]: (known[status] ?? 0) + 1 })
}

for (let n = 0; n < 1_200; n++) {
  await ask('enqueued', 'POST', `/v1/buckets/t${n}/jobs`, { data })
  // Requests come over sockets: between two of them the event loop turns.
  await new Promise((resolve) => setImmediate(resolve))
}
for (let n = 0; n < 500; n++) {
  await ask('paused', 'POST', `/v1/buckets/p${n}/pause`)
  await ask('frozen', 'POST', `/v1/buckets/f${n}/freeze`, { forMs: 60_000 })
  await ask('limited', 'PUT', `/v1/limits/l${n}?scope=local`, { limit: '5, 1/s' })
  await ask('read', 'GET', '/v1/buckets?limit=1')
}
const { waiting } = await shaper.audit()
console.log(JSON.stringify({ ...Object.fromEntries(counts), waiting }))
process.exit()
