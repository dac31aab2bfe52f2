import type { Part } from './scenarios/index.ts'
import type { Result, Sample, Scenario } from './scenarios/scenario.ts'
import { runTrial } from './trial-process.ts'

/**
 * Round after round, each product once a round: what the machine does meanwhile hits all of them alike. A trial
 * that failed once is not tried again.
 */
export async function runScenario(
  part: Part,
  scenario: Scenario<string>,
  wanted: number,
  isQuick: boolean,
): Promise<Result[]> {
  const rounds = Math.min(wanted, scenario.mostRounds ?? wanted)
  const results = await Promise.all(
    scenario.trials(isQuick).map(async (trial) => {
      const { name, setting } = await part.load(trial.product)
      const samples: Sample[] = []
      return {
        trial: { ...trial, scenario: scenario.name },
        name,
        setting: setting(trial.pace),
        samples,
        failure: '',
      }
    }),
  )
  for (let round = 1; round <= rounds; round++) {
    for (const result of results) {
      if (result.failure !== '') continue
      showProgress(`${scenario.name}, round ${round} of ${rounds}: ${result.name}, ${result.trial.keys} keys`)
      const outcome = await runTrial(result.trial, scenario.timeLimitMs, part.serverOf(result.trial.product))
      if ('failure' in outcome) result.failure = outcome.failure
      else result.samples.push(outcome)
    }
  }
  showProgress('')
  return results
}

/** One line that is written over; nothing in a pipe. */
function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`)
}
