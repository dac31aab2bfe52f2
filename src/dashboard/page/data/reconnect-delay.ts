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
