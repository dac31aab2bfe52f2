import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Fleet } from './fleet.ts'
import { FAULT_PRODUCTS, type FaultProduct, INTERVAL_MS } from './products.ts'
import { monotonicMs } from './record.ts'
import { FAULT_SCENARIOS, type FaultScenario } from './scenarios.ts'
import { type Tally, tally } from './tally.ts'

const JOBS = 160
/** What has not ended by then is lost: longer than any of the products takes to notice a dead worker; milliseconds. */
const PATIENCE_MS = 100_000

const { values } = parseArgs({ options: { only: { type: 'string' }, help: { type: 'boolean' } } })
if (values.help === true) {
  console.log(`npm --prefix bench run faults -- [--only <part of the name of a fault>]

The same faults for velvet-rope, BullMQ with its limiter, and Bottleneck on Redis: ${JOBS} jobs of one key in a burst, one start
each ${INTERVAL_MS} ms, two workers; what is lost, started again, too early and out of order, and how long a start is held up.`)
  process.exit()
}

async function runOne(product: FaultProduct, { takesMs, disturb }: FaultScenario): Promise<Tally> {
  const fleet = await Fleet.start(product, takesMs)
  try {
    fleet.enqueue(Array.from({ length: JOBS }, (_, id) => id))
    const fault = await disturb(fleet)
    const until = monotonicMs() + PATIENCE_MS
    for (;;) {
      const counts = tally(fleet.sightings(), fault)
      const isDone = counts.accepted === JOBS && counts.lost === 0
      if (isDone || monotonicMs() > until) return counts
      await sleep(250)
    }
  } finally {
    await fleet.close()
  }
}

for (const { name, setting } of FAULT_PRODUCTS) console.log(`${name}: ${setting}`)
console.log(
  '\n| fault | product | accepted | lost | started again | too early | smallest gap | out of order | held up |' +
    '\n|---|---|--:|--:|--:|--:|--:|--:|--:|',
)
for (const scenario of FAULT_SCENARIOS) {
  if (values.only !== undefined && !scenario.name.includes(values.only)) continue
  for (const product of FAULT_PRODUCTS) {
    const { accepted, lost, again, early, smallestGapMs, outOfOrder, recoveryMs } = await runOne(
      product,
      scenario,
    )
    const heldUp =
      recoveryMs === undefined ? (lost > 0 ? 'for ever' : '-') : `${(recoveryMs / 1_000).toFixed(2)} s`
    const figures = [accepted, lost, again, early, `${smallestGapMs.toFixed(1)} ms`, outOfOrder, heldUp]
    console.log(`| ${scenario.name} | ${product.name} | ${figures.join(' | ')} |`)
  }
}
process.exit()
