import '../world/patch.ts'
import { openStore } from '../open-store.ts'
import { drawPlan } from '../plan/draw.ts'
import { isSubject, type Subject } from '../plan/subjects.ts'
import { summary } from '../report/timeline.ts'
import { type Outcome, runPlan } from '../run-plan.ts'

/** What became of a hunt. */
export interface Hunt {
  /** Runs that showed something: idle ones are not counted. */
  readonly seeds: number
  readonly idle: number
  /** The first seed that failed, the laws that it broke, and how. */
  readonly found?: { readonly seed: number; readonly laws: readonly string[]; readonly text: string }
}

/** Runs seeds about one subject, in this process, until one of them fails. */
export async function hunt(subject: Subject | undefined, from: number, most: number): Promise<Hunt> {
  let idle = 0
  for (let seed = from; seed < from + most; seed++) {
    const outcome: Outcome = await runPlan(drawPlan(seed, subject), openStore)
    if (outcome.isIdle) idle += 1
    if (outcome.failures.length === 0) continue
    const laws = [...new Set(outcome.failures.map(({ law }) => law))]
    return { seeds: seed - from + 1 - idle, idle, found: { seed, laws, text: summary(outcome.failures) } }
  }
  return { seeds: most - idle, idle }
}

// As a process of its own, in a copy of the sources with a defect: node hunt.ts <subject | -> <from> <seeds>
const [, file = '', name = '-', from = '1', most = '1'] = process.argv
if (/[\\/]mutants[\\/]hunt\.[jt]s$/.test(file)) {
  const found = await hunt(isSubject(name) ? name : undefined, Number(from), Number(most))
  console.log(JSON.stringify(found))
}
