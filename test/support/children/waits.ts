import { Shaper } from '../../../src/index.ts'

const shaper = new Shaper('waits', { limits: { '*': '50, 20/s' } })
await shaper.enqueue('k', 1)
await shaper.freeze('frozen', 60_000)
console.log('waits')
