import { Shaper } from '../../src/index.ts'
import { monotonicUs, type SetOrder, type Sight } from './set-use.ts'

/** What runs in a worker process of `set-use.ts`: handlers that say when they start, wait, and say when they end. */
const { address, limit, takesMs, leaseMs, concurrency }: SetOrder = JSON.parse(process.argv[2]!)
const shaper = new Shaper<number, void>('bench', { limits: { '*': limit }, connection: `unix://${address}` })
shaper.on('error', (error) => console.error(error.message))
const say = (sight: Omit<Sight, 'worker'>) => process.send!(sight)
shaper.work(
  async ({ id, costs }) => {
    say({ what: 'start', at: monotonicUs(), id, tokens: costs?.['tokens'] ?? 0 })
    if (takesMs > 0) await new Promise((resolve) => setTimeout(resolve, takesMs))
    say({ what: 'end', at: monotonicUs(), id, tokens: 0 })
  },
  { concurrency, leaseMs },
)
await shaper.ready()
process.on('disconnect', () => process.exit())
process.send!('ready')
