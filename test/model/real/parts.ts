import type { ModelLimit, ModelQuota, Setup } from '../setup.ts'

/** In ticks: a sub-window of each is two, four or five. */
const WINDOWS = [120, 240, 300] as const

/** The same setup, whose limits have quotas and places, and whose attempts settle. */
export function withParts(setup: Setup, chance: () => number): Setup {
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(chance() * items.length)]!
  const countsTokens = chance() < 0.7
  const [hasSameParts, isLimited] = [chance() < 0.7, chance() < 0.4]
  const parts = (): Pick<ModelLimit, 'quotas' | 'places'> => {
    const places = isLimited ? { places: pick([1, 2]) } : {}
    const cost = { amount: pick([2, 3, 4]), window: pick(WINDOWS) }
    const tokens = { amount: pick([3, 4, 6]), window: pick(WINDOWS), each: pick([1, 2, 3]) }
    const all: ModelQuota[] = countsTokens ? pick([[tokens], [cost, tokens]]) : pick([[cost], []])
    return all.length === 0 ? places : { ...places, quotas: all }
  }
  const first = parts()
  return {
    ...setup,
    limits: setup.limits.map((limit) => ({ ...limit, ...(hasSameParts ? first : parts()) })),
    // When a new job departs under quotas and places, on which a deadline depends, the model does not say.
    jobs: setup.jobs.map(({ cost }) => {
      const tokens = pick([undefined, 1, 3])
      return { cost, took: pick([0, 1, 2, 5]), ...(tokens === undefined ? {} : { tokens }) }
    }),
    settles: countsTokens ? 6 : 0,
  }
}
