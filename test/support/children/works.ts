import { Shaper } from '../../../src/index.ts'

// Nothing but its jobs keeps this process alive, and it never closes its shaper.
const shaper = new Shaper('works', {
  limits: { '*': '50, 20/s' },
  jobDefaults: { attempts: 2, backoff: 40 },
})
let done = 0
shaper.work(async (job) => {
  if (job.attempt === 1 && job.data === 'fails once') throw new Error('as planned')
  // A handler that nothing but the shaper keeps alive.
  await new Promise((resolve) => void setTimeout(resolve, 150).unref())
  done++
})
for (let n = 0; n < 9; n++) await shaper.enqueue('k', n)
await shaper.enqueue('k', 'fails once')
process.on('exit', () => console.log(`done ${done}`))
