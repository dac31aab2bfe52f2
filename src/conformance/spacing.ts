import { quote } from '../core/describe.ts'
import { mostLenient, ROUNDING } from './gcra.ts'
import type { StartEvent } from './history.ts'
import type { KeyRecord } from './key-record.ts'
import { instant, type OpenCheck, type Report, span } from './law.ts'

/**
 * L2: starts of a key conform to GCRA (see gcra.ts) under a limit in force, by the clocks that their handlers read
 * first if the history has these times. While the bucket warms up, starts as the line counts them are at least as far
 * apart as the greatest possible warmth requires (see warming.ts). No start happens while the key is frozen or paused,
 * or before it has a limit. A worker with a reserved slot learns of a freeze or a pause up to `lag` later; its starts
 * until then are allowed.
 */
export const spacing: OpenCheck = (ledger, _options, report) => ({
  see(event) {
    if (event.type !== 'start') return
    const key = ledger.key(event.key)
    judgeStandstill(event, key, report)
    judgeGap(event, key, report)
  },
})

function judgeStandstill(start: StartEvent, key: KeyRecord, report: Report): void {
  const frozenUntil = key.knownFreezeAt(start.at)
  const early = frozenUntil - start.at
  if (early > ROUNDING) {
    const until = instant(frozenUntil)
    report(breach(start, `while the key was frozen, expected ${until} or later, ${span(early)} later`))
  }
  const pausedAt = key.knownPauseAt(start.at)
  if (pausedAt !== undefined) {
    report(
      breach(start, `while the key was paused since ${instant(pausedAt)}, expected none before a resume`),
    )
  }
}

function judgeGap(start: StartEvent, key: KeyRecord, report: Report): void {
  const limits = key.limitsAt(start.at)
  const lenient = mostLenient(key.spacing, limits)
  if (lenient === undefined) {
    report(breach(start, 'before the key had a limit, expected none'))
    return
  }
  const { at, id } = key.spacing.last
  const startedAt = start.readAt ?? start.at
  const gap = startedAt - at
  const fitting = limits.filter((limit) => gap >= key.spacing.leastGap(limit) - ROUNDING)
  if (fitting.length === 0) {
    const least = span(key.spacing.leastGap(lenient))
    report(breach(start, `${span(gap)} after that of job ${quote(id)}, expected at least ${least}`))
    return
  }
  // Both must hold under the same limit: a start that satisfies the spacing of one limit may break the warm-up of
  // another.
  const warm = Math.min(...fitting.map((limit) => key.warming.earliest(limit)))
  if (start.at >= warm - ROUNDING) return
  const early = `${span(warm - start.at)} before the bucket can be so warm`
  report(breach(start, `${early}, expected ${instant(warm)} or later`))
}

function breach({ at, readAt = at, key, id }: StartEvent, what: string) {
  const message = `key ${quote(key)}: the start of job ${quote(id)} at ${instant(readAt)} came ${what}`
  return { law: 'L2', at, key, id, message } as const
}
