import type { Shaper } from '../shaper/shaper.ts'

/** The pattern of the rule that governs a key; undefined where none does (any more), or it is no key. */
export function patternOf(shaper: Shaper, key: string): string | undefined {
  try {
    return shaper.limits.resolve(key).pattern
  } catch {
    return undefined
  }
}
