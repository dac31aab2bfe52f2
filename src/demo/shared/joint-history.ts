import type { HistoryEvent } from '../../core/conformance.ts'

/**
 * One history of what several processes saw, in the order of their common clock. Each of them notes the limit of a
 * key when it first meets it: the first note is kept. Audits were made when everybody was done.
 */
export function joinHistories(histories: readonly (readonly HistoryEvent[])[]): HistoryEvent[] {
  const events = histories.flat().sort((a, b) => a.at - b.at || rank(a) - rank(b))
  const end = events.at(-1)?.at ?? 0
  const limited = new Set<string>()
  const past = events.filter((event) => {
    if (event.type !== 'limit') return event.type !== 'audit'
    if (limited.has(event.key)) return false
    limited.add(event.key)
    return true
  })
  const audits = events.filter((event) => event.type === 'audit').map((event) => ({ ...event, at: end }))
  return [...past, ...audits]
}

function rank({ type }: HistoryEvent): number {
  return type === 'limit' ? 0 : 1
}
