import type { RunLog } from '../../src/demo/run-log.ts'

/** A busy machine costs rate, and may hold up a call on its way to the API, which then answers 429. */
const OF_A_BUSY_MACHINE = /^(?:L3|429): /

/** What went wrong behind the rope of a demo, but for what a busy machine may have done. */
export function faultsOf(problems: readonly string[]): string[] {
  return problems.filter((problem) => !OF_A_BUSY_MACHINE.test(problem))
}

/** The same, of all that a demo has printed. */
export function faultsIn(output: string): string[] {
  const lines = output.split('\n')
  const laws = lines.filter((line) => /^L\d: /.test(line))
  const broken = lines.filter((line) => line.endsWith('the rope did not hold what it promises'))
  // Where no law was broken, it was an error.
  return laws.length === 0 ? broken : faultsOf(laws)
}

/**
 * Calls that were answered 429 though they came as far behind the one before as their departures were from each other,
 * but for what the API forgives.
 *
 * @param slack the part of an interval that it does
 */
export function unfairRefusals(run: RunLog, slack: number): number {
  const counts = run.accounts.map(({ account, calls, departures }) => {
    const { interval, tolerance } = account.limit
    const wayOf = (nth: number) => calls[nth]!.at - departures[nth]!.at
    const wasCaughtUpWith = (nth: number) => wayOf(nth - 1) - wayOf(nth) > interval * slack - tolerance
    return calls.filter(({ isRefused }, nth) => isRefused && !wasCaughtUpWith(nth)).length
  })
  return counts.reduce((sum, count) => sum + count, 0)
}
