import type { HistoryEvent } from '../../../src/testing.ts'
import type { Seen } from '../actors/recorder.ts'
import type { Failure } from './judge.ts'

/**
 * A job may be ended only by a process that started it since it was last accepted: a worker that ran an earlier job of the same id
 * has lost it.
 */
export function judgeStrayEnds(seen: readonly Seen[]): Failure[] {
  const acceptedAt = new Map<string, number>()
  const startedAt = new Map<string, number>()
  const failures: Failure[] = []
  for (const { by, event } of inOrder(seen)) {
    if (event.type === 'answer' && event.accepted) acceptedAt.set(event.id, event.at)
    if (event.type === 'start') startedAt.set(`${by} ${event.id}`, event.at)
    if (event.type !== 'end' || event.outcome !== 'completed' || !by.startsWith('worker')) continue
    const accepted = acceptedAt.get(event.id)
    const started = startedAt.get(`${by} ${event.id}`)
    if (accepted === undefined || started === undefined || started >= accepted) continue
    failures.push({
      law: 'L5',
      at: event.at,
      message:
        `${by} ended ${event.id}, which was accepted at ${accepted / 1e6} s: it had started ` +
        `the job of the same id at ${started / 1e6} s, before that`,
    })
  }
  return failures
}

/** A request is refused two seconds after it was made; clocks and ways may add a little. Microseconds. */
const NOT_AFTER = 2_200_000

/** A request whose caller got an error may have been carried out before, but never is later than two seconds after it was made. */
export function judgeGivenUp(
  givenUp: readonly { readonly at: number; readonly id: string }[],
  seen: readonly Seen[],
): Failure[] {
  return givenUp.flatMap(({ id, at }) => {
    const admitted = seen.find(({ event }) => event.type === 'answer' && event.accepted && event.id === id)
    if (admitted === undefined || admitted.event.at <= at + NOT_AFTER) return []
    const message = `${id} was admitted ${(admitted.event.at - at) / 1e6} s after the request, whose caller got an error`
    return [{ law: 'L8', at: admitted.event.at, message }]
  })
}

function inOrder(seen: readonly Seen[]): readonly { readonly by: string; readonly event: HistoryEvent }[] {
  return seen.toSorted((a, b) => a.event.at - b.event.at)
}
