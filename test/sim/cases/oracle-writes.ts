import '../world/patch.ts'
import { openStore } from '../open-store.ts'
import { drawPlan } from '../plan/draw.ts'
import { runPlan } from '../run-plan.ts'

/** Eight jobs of a line that lets one go each second: prints how often the oracle wrote to the store, and what the run came to. */
const drawn = drawPlan(1)
const key = { key: 'k', capacity: 20, rate: { count: 1, per: 1_000 } }
const jobs = Array.from({ length: 8 }, (_, n) => ({
  id: `j${n}`,
  key: 'k',
  producer: 1,
  at: 0,
  cost: 1,
  bytes: 10,
  attempts: 1,
  backoff: 1,
  comesBack: 0,
  handler: { takes: 5, computes: 0, fails: 0, hangs: false },
}))
const outcome = await runPlan({ ...drawn, keys: [key], jobs, turns: [], actions: [], faults: [] }, openStore)
const oracle = outcome.scene.world.processes.find(({ name }) => name === 'oracle')!
const ends = outcome.history.filter(({ type }) => type === 'end').length
const seconds = Math.round(outcome.lasted / 1e6)
console.log(JSON.stringify({ writes: oracle.writes, ends, seconds, failures: outcome.failures }))
