import { MILLISECOND } from '../../core/duration.ts'

const SHORTEST = 100 * MILLISECOND
const LONGEST = 800 * MILLISECOND
const JITTER = 0.25

/**
 * How long to leave a store alone that failed `failures` times in a row: 100 ms to 1 s, at different times for
 * different processes.
 *
 * @param random from 0 to 1
 */
export function outageDelay(failures: number, random: number): number {
  return Math.min(LONGEST, SHORTEST * 2 ** (failures - 1)) * (1 + JITTER * random)
}
