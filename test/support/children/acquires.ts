import { Shaper } from '../../../src/index.ts'

// Waits for a given number of turns of a key, and for ever.
const [connection = '', prefix = '', key = '', count = '0'] = process.argv.slice(2)
const shaper = new Shaper('turns', { limits: { '*': '3, 10/s' }, connection, prefix })
let admitted = 0
shaper.on('admitted', () => {
  if (++admitted === Number(count)) console.log('waits')
})
for (let n = 0; n < Number(count); n++) void shaper.acquire(key)
