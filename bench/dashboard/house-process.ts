import { monitorEventLoopDelay } from 'node:perf_hooks'
import { serveHttp } from '../../dist/src/http/server.js'
import { createHttpApp, openDashboard } from '../../dist/src/http.js'
import { Shaper } from '../../dist/src/index.js'
import { type HouseOrder, LIMIT, NAME } from './order.ts'
import { openTraffic } from './traffic.ts'

/** What serves the page. It answers how late its event loop was since it was asked before: milliseconds, 99th percentile and most. */
const order = JSON.parse(process.argv[2]!) as HouseOrder
const shaper =
  order.socket === ''
    ? await openTraffic(order)
    : new Shaper(NAME, { limits: { '*': LIMIT }, connection: `unix://${order.socket}` })
await shaper.ready()
const app = createHttpApp(shaper, { dashboard: openDashboard() })
const server = await serveHttp(app, { host: '127.0.0.1', port: 0, hasTokens: false })
const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
process.on('disconnect', () => process.exit())
process.on('message', () => {
  process.send!([delay.percentile(99) / 1e6, delay.max / 1e6])
  delay.reset()
})
process.send!(server.url)
