import type { JobView } from '../../../src/index.ts'
import type { HistoryEvent } from '../../../src/testing.ts'

const OUTCOMES = ['completed', 'failed', 'cancelled', 'expired'] as const

/** The end of a job, as the store tells it later; undefined while it has none. */
export function endOf({ id, state, endedAt }: JobView): HistoryEvent | undefined {
  const outcome = OUTCOMES.find((end) => end === state)
  if (outcome === undefined || endedAt === undefined) return undefined
  return { type: 'end', at: endedAt * 1_000, id, outcome }
}
