import { PARTS } from './scenarios/index.ts'
import type { Trial } from './scenarios/scenario.ts'

/** What runs in the process of one trial: reads the trial, measures, tells the parent, and leaves. */
const trial = JSON.parse(process.argv[2]!) as Trial
const scenario = PARTS.flatMap(({ scenarios }) => scenarios).find(({ name }) => name === trial.scenario)!
const sample = await scenario.measure(trial, process.argv[3]!)
process.send!(sample, () => process.exit())
