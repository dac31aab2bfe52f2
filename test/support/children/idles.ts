import { Shaper } from '../../../src/index.ts'

// A shaper with a worker, a frozen bucket, a paused one, and a job that was taken out again: nothing to stay for.
const shaper = new Shaper('idles', { limits: { '*': '50, 1/h' } })
shaper.work(() => undefined)
await shaper.freeze('frozen', 60_000)
await shaper.pause('paused')
await shaper.enqueue('paused', 1, { id: 'x' })
await shaper.enqueue('frozen', 1, { id: 'y', deadlineMs: 60_001 })
await shaper.cancel('x')
await shaper.cancel('y')
process.on('exit', () => console.log('exits'))
