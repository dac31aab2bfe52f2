import { monotonicNow } from '../core/clock.ts'
import { SHAPER_EVENTS, type ShaperEvents } from '../core/events.ts'
import { jsonRefusal } from '../core/job.ts'
import { formatLimit } from '../core/limit-format.ts'
import { formatMeterLimit } from '../core/meter-limit.ts'
import { messageOf } from '../core/thrown.ts'
import type { Shaper } from '../shaper/shaper.ts'
import { Flood, Repetition } from './flood.ts'
import type { Log } from './log.ts'

type Listeners = { readonly [Name in keyof ShaperEvents]: (...event: ShaperEvents[Name]) => void }
type Fields = Readonly<Record<string, unknown>>

/** Lines of one kind per ten seconds. */
const MOST_LINES = 30
/** Limits named in one line. */
const MOST_NAMED = 20

/**
 * Logs the events of a shaper.
 *
 * | level | what                                                        | at most               |
 * |-------|-------------------------------------------------------------|-----------------------|
 * | debug | verdicts, departures and outcomes                           | all                   |
 * | info  | the store, the rule book, freezes and pauses, expired jobs  | 30 of a kind in 10 s  |
 * | warn  | failed attempts, lost workers, shortened freezes            | 30 of a kind in 10 s  |
 * | warn  | jobs that no worker took up                                 | one in 10 s           |
 * | error | errors that no promise can report                           | the same once in 10 s |
 *
 * The next line of a kind has the number of suppressed lines in `suppressed`, and that of a repeated error in
 * `repeated`. Keys are logged; payloads and results are not.
 *
 * @param now a monotonic clock, in microseconds
 * @returns a function that stops it
 */
export function logShaper(shaper: Shaper, log: Log, now: () => number = monotonicNow): () => void {
  const listeners = listenersFor(log.with({ shaper: shaper.name }), now)
  const names = SHAPER_EVENTS as readonly (keyof ShaperEvents)[]
  const add = <Name extends keyof ShaperEvents>(name: Name) => shaper.on(name, listeners[name])
  const remove = <Name extends keyof ShaperEvents>(name: Name) => shaper.off(name, listeners[name])
  for (const name of names) add(name)
  return () => {
    for (const name of names) remove(name)
  }
}

function listenersFor(log: Log, now: () => number): Listeners {
  const repetition = new Repetition()
  const bounded = (level: 'info' | 'warn' | 'error', message: string, most = MOST_LINES) => {
    const flood = new Flood(most)
    return (fields: Fields) => {
      if (!log.isEnabled(level)) return
      const suppressed = flood.pass(now())
      if (suppressed !== undefined) log[level](message, { ...fields, ...(suppressed > 0 && { suppressed }) })
    }
  }
  const failed = bounded('warn', 'attempt failed')
  const recovered = bounded('warn', 'recovered from a lost worker')
  // Where no worker runs, that happens to all jobs that are due, again and again.
  const unclaimed = bounded('warn', 'back in its line: no worker had begun with it', 1)
  const expired = bounded('info', 'expired')
  const holdExpired = bounded('warn', 'turn held its place for too long, and lost it')
  const frozen = bounded('info', 'frozen')
  const cutFreeze = bounded('warn', 'frozen for less than requested')
  const unfrozen = bounded('info', 'unfrozen')
  const paused = bounded('info', 'paused')
  const resumed = bounded('info', 'resumed')
  const limit = bounded('info', 'limit changed')
  const localLimit = bounded('info', 'local limit changed')
  const errors = bounded('error', 'error')
  return {
    admitted: ({ id, key, cost, position, waitMs }) => {
      log.debug('admitted', { id, key, cost, position, waitMs })
    },
    rejected: ({ id, key, cost, reason, retryAfterMs, waiting, capacity, local }) => {
      const refusal = { id, key, cost, reason, retryAfterMs, waiting, capacity, ...(local && { local }) }
      log.debug('rejected', jsonRefusal(refusal))
    },
    departed: ({ id, key, attempt, waitedMs }) => log.debug('departed', { id, key, attempt, waitedMs }),
    settled: ({ id, key, attempt, amounts }) => log.debug('settled', { id, key, attempt, amounts }),
    completed: ({ id, key, attempt }) => log.debug('completed', { id, key, attempt }),
    failed: ({ id, key, attempt, at, error, retryAt }) => {
      const rest = retryAt === undefined ? { isLast: true } : { retryAfterMs: Math.round(retryAt - at) }
      failed({ id, key, attempt, error, ...rest })
    },
    returned: ({ id, key, at, retryAt }) => {
      log.debug('returned to its line', { id, key, retryAfterMs: Math.round(retryAt - at) })
    },
    recovered: ({ id, key, attempt, mayHaveStarted }) => {
      if (attempt === 0) unclaimed({ id, key })
      else recovered({ id, key, attempt, mayHaveStarted })
    },
    expired: ({ id, key }) => expired({ id, key }),
    released: ({ id, key }) => log.debug('turn gave its place back', { id, key }),
    holdExpired: ({ id, key }) => holdExpired({ id, key }),
    cancelled: ({ id, key }) => log.debug('cancelled', { id, key }),
    frozen: ({ key, at, until, askedMs }) => {
      const forMs = Math.round(until - at)
      if (askedMs === undefined) frozen({ key, forMs })
      else cutFreeze({ key, forMs, askedMs: Math.round(askedMs) })
    },
    unfrozen: ({ key }) => unfrozen({ key }),
    paused: ({ key }) => paused({ key }),
    resumed: ({ key }) => resumed({ key }),
    limit: ({ pattern, limit: to }) => {
      limit({ pattern, ...(to === undefined ? { isUnset: true } : { limit: formatLimit(to) }) })
    },
    limitsReplaced: ({ origin, by, since, limits }) => {
      const changes = limits
        .slice(0, MOST_NAMED)
        .map(({ pattern, before = 'none', after = 'none' }) => `${pattern}: ${before} -> ${after}`)
      log.info('limits of this process replaced those of another', {
        origin,
        ...(by !== undefined && { by }),
        ...(since !== undefined && { since: new Date(since).toISOString() }),
        limits: changes,
        ...(limits.length > MOST_NAMED && { more: limits.length - MOST_NAMED }),
      })
    },
    localLimit: ({ pattern, limit: to, by }) => {
      const what = to === undefined ? { isUnset: true } : { limit: formatMeterLimit(to) }
      localLimit({ pattern, ...what, ...(by !== undefined && { by }) })
    },
    connected: ({ durability, version }) => log.info('connected', { redis: version, durability }),
    error: (error) => {
      if (!log.isEnabled('error')) return
      const repeated = repetition.note(messageOf(error), now())
      if (repeated !== undefined) errors({ error, ...(repeated > 0 && { repeated }) })
    },
  }
}
