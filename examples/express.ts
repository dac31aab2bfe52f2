// An Express route that enqueues: npx tsx examples/express.ts, and in another shell
//   for n in 1 2 3 4 5 6; do curl -i --json '{"total": 42}' http://127.0.0.1:3000/shops/acme/orders; done
import express from 'express'
import { Shaper } from 'velvet-rope'

// Every shop's API takes two orders a second. Three may wait.
const shaper = new Shaper<{ total: number }>('orders', { limits: { '*': '3, 2/s' } })

shaper.work(async ({ id, key, data, departedAt }) => {
  console.log(`${new Date(departedAt).toISOString()}  ${key}: order ${id} over ${data.total} goes out`)
})

const app = express().use(express.json())

app.post('/shops/:shop/orders', async (request, response) => {
  const id = request.get('idempotency-key')
  const admission = await shaper.enqueue(request.params.shop, request.body, id === undefined ? {} : { id })
  if (admission.accepted) {
    const { id, waitMs } = admission
    response.status(202).location(`/orders/${id}`).json({ id, waitMs })
  } else {
    const { reason, retryAfterMs } = admission
    response
      .status(429)
      .set('retry-after', `${Math.ceil(retryAfterMs / 1000)}`)
      .json({ reason })
  }
})

app.get('/orders/:id', async (request, response) => {
  const job = await shaper.job(request.params.id)
  if (job === undefined) response.sendStatus(404)
  else response.json({ state: job.state, departedAt: job.departedAt })
})

const server = app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') console.log(`http://127.0.0.1:${address?.port}`)
})

process.once('SIGTERM', () => server.close(() => void shaper.close({ drainMs: 10_000 })))
