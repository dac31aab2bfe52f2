import type { HistoryEvent } from '../../../src/testing.ts'
import { isTurnId } from '../../support/turn-id.ts'
import type { Left, Seen } from '../actors/recorder.ts'

type StartEvent = Extract<HistoryEvent, { type: 'start' }>

/** What happens to a job that has started. */
const OF_STARTED: ReadonlySet<HistoryEvent['type']> = new Set(['settle', 'return', 'end', 'release'])

/**
 * A process estimates when a handler started, settled and ended, by a clock that may have been set. Nothing is before its start there,
 * and no end before its handler had ended: where the clock was set back meanwhile, the process reports the time of the start.
 */
export function afterOwnSteps(seen: readonly Seen[], left: readonly Left[]): Seen[] {
  const over = new Map<string, number>()
  for (const { at, key, fence } of left) {
    const name = `${fence} ${key}`
    over.set(name, Math.min(at, over.get(name) ?? at))
  }
  const starts = new Map<string, StartEvent>()
  return seen.map((one) => {
    const { by, event } = one
    if (event.type === 'start') starts.set(`${by} ${event.id}`, event)
    if (!OF_STARTED.has(event.type) || !('id' in event)) return one
    const start = starts.get(`${by} ${event.id}`)
    if (start === undefined) return one
    // A turn ends as it departs, and what it holds is given back later.
    const isOver = event.type === 'release' || (event.type !== 'settle' && !isTurnId(event.id))
    const earliest = (isOver && over.get(`${start.fence} ${start.key}`)) || start.at
    return earliest <= event.at ? one : { ...one, event: { ...event, at: earliest } }
  })
}
