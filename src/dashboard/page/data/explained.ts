import type { JobExplanation } from '../../../core/explanation-view.ts'

/**
 * When a job departs; undefined where that is unknown, such as without a free handler. For the first job in line it is the
 * next departure of the bucket, which is updated more often.
 */
export function departureOf(
  { position, departsAt }: Pick<JobExplanation, 'position' | 'departsAt'>,
  nextDepartureAt: number | undefined,
): number | undefined {
  return departsAt !== undefined && position === 1 ? (nextDepartureAt ?? departsAt) : departsAt
}
