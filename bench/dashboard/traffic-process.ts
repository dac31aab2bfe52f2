import type { HouseOrder } from './order.ts'
import { openTraffic } from './traffic.ts'

process.on('disconnect', () => process.exit())
await openTraffic(JSON.parse(process.argv[2]!) as HouseOrder)
process.send!('ready')
