import type { JobExplanation } from '../../../core/explanation-view.ts'

/**
 * When a job departs; undefined where that is not known, as without a free handler. The first in line departs with the next
 * departure of its bucket, of which there is news more often.
 */
export function departureOf(
  { position, departsAt }: Pick<JobExplanation, 'position' | 'departsAt'>,
  nextDepartureAt: number | undefined,
): number | undefined {
  return departsAt !== undefined && position === 1 ? (nextDepartureAt ?? departsAt) : departsAt
}
