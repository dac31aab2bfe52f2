import { runSeed, type SeedOptions, type SeedReport } from './run-seeds.ts'

/** What the parent asks for: so many seeds from one on. */
export interface Order {
  readonly from: number
  readonly count: number
  readonly options: SeedOptions
}

// A process that runs seeds and reports each; it asks for more by being done.
process.on('message', (order: Order) => void carryOut(order))
process.on('disconnect', () => process.exit())

async function carryOut({ from, count, options }: Order): Promise<void> {
  const reports: SeedReport[] = []
  for (let seed = from; seed < from + count; seed++) reports.push(await runSeed(seed, options))
  process.send!(reports)
}
