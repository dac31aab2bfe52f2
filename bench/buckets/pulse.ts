import { Shaper } from '../../dist/src/index.js'
import type { PulseOrder } from './pulse-process.ts'

/** What runs in the process of the pulse: one bucket that always has work. It answers how late each start was. */
const { socket, perSecond } = JSON.parse(process.argv[2]!) as PulseOrder
const shaper = new Shaper('pulse', {
  limits: { '*': `100000, ${perSecond}/s` },
  connection: `unix://${socket}`,
})
const intervalMs = 1_000 / perSecond

let late: number[] = []
let before: number | undefined
shaper.work(() => {
  const now = performance.now()
  if (before !== undefined) late.push(Math.max(0, now - before - intervalMs))
  before = now
  void shaper.enqueue('pulse', 0)
})
process.on('disconnect', () => process.exit())
process.on('message', () => {
  process.send!(late)
  late = []
})
await shaper.ready()
await shaper.enqueueMany(Array.from({ length: 100 }, () => ({ key: 'pulse', data: 0 })))
process.send!([])
