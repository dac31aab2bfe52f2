import './world/patch.ts'
import { recoveries } from './judge/recovery.ts'
import { openStore } from './open-store.ts'
import { drawPlan } from './plan/draw.ts'
import type { Plan } from './plan/plan.ts'
import { saveFailure } from './report/failure-file.ts'
import { shrink } from './report/shrink.ts'
import { summary } from './report/timeline.ts'
import { type Outcome, runPlan } from './run-plan.ts'

/** What a seed's run came to. */
export interface SeedReport {
  readonly seed: number
  readonly events: number
  /** Virtual seconds. */
  readonly seconds: number
  readonly starts: number
  /** Those that met a job. */
  readonly faults: readonly string[]
  /** It has faults, and none of them met a job. */
  readonly isIdle: boolean
  readonly recoveries: readonly (readonly [kind: string, ms: number])[]
  readonly failure?: { readonly laws: readonly string[]; readonly text: string; readonly path?: string }
}

export interface SeedOptions {
  /** Where files of failures go; absent: none are written, and nothing is made smaller. */
  readonly folder?: string
  /** How many smaller plans are tried. */
  readonly shrinks: number
}

/** Runs one seed; where it fails, makes it smaller and writes it down. */
export async function runSeed(seed: number, { folder, shrinks }: SeedOptions): Promise<SeedReport> {
  const outcome = await runPlan(drawPlan(seed), openStore)
  const report = {
    seed,
    events: outcome.events,
    seconds: outcome.lasted / 1e6,
    starts: outcome.history.filter(({ type }) => type === 'start').length,
    faults: outcome.met.map(({ kind }) => kind),
    isIdle: outcome.isIdle,
    recoveries: recoveries(outcome.scene, outcome.history),
  }
  if (outcome.failures.length === 0) return report
  const laws = [...new Set(outcome.failures.map(({ law }) => law))]
  const failure = { laws, text: summary(outcome.failures) }
  if (folder === undefined) return { ...report, failure }
  const smallest = await shrunk(outcome, shrinks)
  return { ...report, failure: { ...failure, path: saveFailure(folder, seed, outcome, smallest) } }
}

async function shrunk(whole: Outcome, most: number): Promise<Outcome> {
  const [first] = whole.failures
  let smallest = whole
  const fails = async (plan: Plan) => {
    const outcome = await runPlan(plan, openStore)
    const isSame = outcome.failures.some(({ law }) => law === first!.law)
    if (isSame) smallest = outcome
    return isSame
  }
  await shrink(whole.plan, fails, most)
  return smallest
}
