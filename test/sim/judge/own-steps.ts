import type { HistoryEvent } from '../../../src/testing.ts'
import { isTurnId } from '../../support/turn-id.ts'
import type { Asked, Left, Seen } from '../actors/recorder.ts'

type StartEvent = Extract<HistoryEvent, { type: 'start' }>

/** What happens to a job that has started. */
const OF_STARTED: ReadonlySet<HistoryEvent['type']> = new Set(['settle', 'return', 'end', 'release'])

/** The start with that fence. */
function nameOf({ key, fence }: { readonly key: string; readonly fence?: number | undefined }): string {
  return `${fence} ${key}`
}

/**
 * A process estimates when a handler started, settled and ended, by a clock that may have been set. Nothing is before its start there,
 * no end before its handler had ended, and no settling before it was asked for. Where the clock was set back meanwhile, the process
 * reports that the handler ended as it started; where it was set forward, what it settles is told by the clock of before.
 */
export function afterOwnSteps(
  seen: readonly Seen[],
  { left, asked }: { readonly left: readonly Left[]; readonly asked: readonly Asked[] },
): Seen[] {
  const over = new Map<string, number>()
  for (const leave of left) over.set(nameOf(leave), Math.min(leave.at, over.get(nameOf(leave)) ?? leave.at))
  const settles = new Map(asked.flatMap((ask) => (ask.answer === true ? [[nameOf(ask), ask.at]] : [])))
  const starts = new Map<string, StartEvent>()
  return seen.map((one) => {
    const { by, event } = one
    if (event.type === 'start') starts.set(`${by} ${event.id}`, event)
    if (!OF_STARTED.has(event.type) || !('id' in event)) return one
    const start = starts.get(`${by} ${event.id}`)
    if (start === undefined) return one
    // A turn ends as it departs, and what it holds is given back later.
    const isOver = event.type === 'release' || !isTurnId(event.id)
    const own = event.type === 'settle' ? settles : isOver ? over : undefined
    const before = own?.get(nameOf(start)) ?? start.at
    // What comes after it was told is no reason: a process that closes gives back what its turns hold.
    const earliest = before <= (one.toldAt ?? before) ? Math.max(start.at, before) : start.at
    return earliest <= event.at ? one : { ...one, event: { ...event, at: earliest } }
  })
}
