const FIRST_MS = 500
const LONGEST_MS = 15_000

/**
 * The delay before the next attempt to connect: longer after each failure, and randomised.
 *
 * @param failures in a row, at least 1
 * @param chance 0 to 1
 */
export function reconnectDelayMs(failures: number, chance: number): number {
  const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** (failures - 1))
  return longest * (0.5 + chance / 2)
}

/** A page keeps the service busy for a tenth of the time at most, whatever an answer takes. */
const RESTS_PER_ANSWER = 9
const LONGEST_REST_MS = 30_000

/**
 * The pause after an answer, in milliseconds.
 *
 * @param answerMs how long the answer took
 * @param leastMs the pause where it comes at once
 */
export function restMsAfter(answerMs: number, leastMs: number): number {
  return Math.max(leastMs, Math.min(answerMs * RESTS_PER_ANSWER, LONGEST_REST_MS))
}
