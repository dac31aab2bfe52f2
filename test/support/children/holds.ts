import { Shaper } from '../../../src/index.ts'

// Takes a turn of a key and holds its place; on a line of its input it settles and releases, and says what came of that.
const [connection = '', prefix = '', limits = '', key = ''] = process.argv.slice(2)
const shaper = new Shaper('turns', { limits: JSON.parse(limits), connection, prefix })
shaper.on('error', () => undefined)
const turn = await shaper.acquire(key)
console.log(`holds ${turn.fence}`)
process.stdin.once('data', async () => {
  const isSettled = await turn.settle({ tokens: 1 })
  console.log(`settled ${isSettled}, released ${await turn.release()}`)
  await shaper.close()
  process.exit()
})
