import type { EndEvent, HistoryEvent } from '../conformance/history.ts'
import { type Clock, monotonicNow } from '../core/clock.ts'
import { MILLISECOND } from '../core/duration.ts'
import { isVelvetRopeError } from '../core/errors.ts'
import type { JobEvent } from '../core/events.ts'
import { firstSegment, isTotal } from '../core/key.ts'
import { parseLimit } from '../core/limit.ts'
import type { Costs } from '../core/usage.ts'
import type { Handler } from '../line/attempt.ts'
import type { Shaper } from '../shaper/shaper.ts'

/** A history that grows while its shaper works. */
export interface Recording<Data = unknown, Result = unknown> {
  /** The events so far, in order; pass them to `checkHistory`. */
  readonly history: readonly HistoryEvent[]
  /**
   * Wraps a handler for `shaper.work` so that it reads the clock first: the spacing of starts is then judged by that
   * reading, otherwise by the times that the line counts.
   */
  timed(handler: Handler<Data, Result>): Handler<Data, Result>
  /**
   * Adds how long a job waits at most, if its explanation promises that (`waitMsAtMost`), for L13. Needs the clock of the shaper, so it
   * is for lines in this process.
   */
  promise(id: string): Promise<void>
  /** Adds an audit, a count of the jobs by state, for L9. */
  audit(): Promise<void>
}

type Named = Pick<JobEvent, 'id' | 'key' | 'cost'> & { readonly costs?: Costs | undefined }

/**
 * Records what a shaper does from now on as a history for `checkHistory`. Call it before the first job.
 *
 * @param clock the clock that `timed` handlers read: the one given to the shaper
 */
export function recordHistory<Data, Result>(
  shaper: Shaper<Data, Result>,
  clock: Pick<Clock, 'now'> = { now: monotonicNow },
): Recording<Data, Result> {
  const history: HistoryEvent[] = []
  const readings = new Map<string, number>()
  const limits = new Map<string, string>()
  /** The first segment of keys that each id was seen under first. */
  const segments = new Map<string, string>()
  let at = 0

  /** An id is of a first segment; in a history it is one of a kind. */
  const nameOf = ({ id, key }: { readonly id: string; readonly key: string }) => {
    const segment = firstSegment(key)
    const first = segments.get(id) ?? segment
    segments.set(id, first)
    return first === segment ? id : `${segment}/${id}`
  }

  const noteLimit = (key: string, limit: string | undefined) => {
    if (limit === undefined || limits.get(key) === limit) return
    limits.set(key, limit)
    history.push({ type: 'limit', at, key, limit: parseLimit(limit, key) })
  }
  const noteLimits = (key: string) => {
    for (const { path, limit } of shaper.limits.totals(key)) noteLimit(path, limit)
    if (!isTotal(key)) noteLimit(key, limitOf(shaper, key))
  }
  const see = (key: string, atMs: number) => {
    at = atMs * MILLISECOND
    if (!limits.has(key)) noteLimits(key)
  }
  const named = ({ cost, costs, ...job }: Named) => {
    return { at, id: nameOf(job), key: job.key, cost, ...(costs && { costs }) }
  }
  const release = (turn: JobEvent) => {
    see(turn.key, turn.at)
    history.push({ type: 'release', at, id: nameOf(turn), key: turn.key })
  }
  const end = (outcome: EndEvent['outcome']) => (job: JobEvent) => {
    see(job.key, job.at)
    history.push({ type: 'end', at, id: nameOf(job), outcome })
  }
  const returned = (job: JobEvent, reason: 'retry' | 'freeze', retryAt: number) => {
    see(job.key, job.at)
    history.push({ type: 'return', at, id: nameOf(job), reason, readyAt: retryAt * MILLISECOND })
  }

  shaper
    .on('admitted', (job) => {
      see(job.key, job.at)
      const { departsAt, isEstimate } = job
      const said = { departsAt: departsAt * MILLISECOND, ...(isEstimate && { isEstimate }) }
      history.push({ type: 'answer', ...named(job), accepted: true, ...said })
    })
    .on(
      'rejected',
      ({ id = '', key, cost, costs, reason, retryAfterMs, isEstimate, at: atMs, local, total }) => {
        see(key, atMs)
        // A local limit rejected it, or a total, and not the limit of the key.
        if (local || total !== undefined) return
        const retryAt = at + retryAfterMs * MILLISECOND
        const said = { reason, retryAt, ...(isEstimate && { isEstimate }) }
        history.push({ type: 'answer', ...named({ id, key, cost, costs }), accepted: false, ...said })
      },
    )
    .on('departed', (job) => {
      see(job.key, job.at)
      const subject = named(job)
      const readAt = readings.get(subject.id)
      readings.delete(subject.id)
      const read = readAt === undefined ? {} : { readAt }
      const { attempt, fence, isHeld } = job
      history.push({
        type: 'start',
        ...subject,
        attempt,
        fence,
        ...read,
        ...(isHeld !== undefined && { isHeld }),
      })
    })
    .on('settled', ({ amounts, fence, ...job }) => {
      see(job.key, job.at)
      history.push({ type: 'settle', at, id: nameOf(job), key: job.key, amounts, fence })
    })
    .on('released', release)
    .on('holdExpired', release)
    .on('failed', (job) => {
      if (job.retryAt === undefined) end('failed')(job)
      else returned(job, 'retry', job.retryAt)
    })
    .on('returned', (job) => returned(job, 'freeze', job.retryAt))
    .on('completed', end('completed'))
    .on('cancelled', end('cancelled'))
    .on('expired', end('expired'))
    .on('frozen', ({ key, at: atMs, until }) => {
      see(key, atMs)
      history.push({ type: 'freeze', at, key, until: until * MILLISECOND })
    })
    .on('unfrozen', ({ key, at: atMs }) => {
      see(key, atMs)
      history.push({ type: 'unfreeze', at, key })
    })
    .on('paused', ({ key, at: atMs }) => {
      see(key, atMs)
      history.push({ type: 'pause', at, key })
    })
    .on('resumed', ({ key, at: atMs }) => {
      see(key, atMs)
      history.push({ type: 'resume', at, key })
    })
    .on('limit', ({ at: atMs }) => {
      at = atMs * MILLISECOND
      for (const key of [...limits.keys()]) {
        noteLimits(key)
        if (!isTotal(key) || shaper.limits.totals(key).some(({ path }) => path === key)) continue
        limits.delete(key)
        history.push({ type: 'unset', at, key })
      }
    })

  return {
    history,
    timed: (handler) => (job) => {
      readings.set(nameOf(job), clock.now())
      return handler(job)
    },
    promise: async (id) => {
      const explanation = await shaper.explain(id)
      if (explanation?.waitMsAtMost === undefined) return
      at = clock.now()
      const { key, waitMsAtMost } = explanation
      history.push({
        type: 'promise',
        at,
        id: nameOf({ id, key }),
        key,
        startsBy: at + waitMsAtMost * MILLISECOND,
      })
    },
    audit: async () => void history.push({ type: 'audit', at, ...(await shaper.audit()) }),
  }
}

/** Returns the limit as text; undefined for a key whose last rule was unset, which keeps its previous limit. */
function limitOf<Data, Result>(shaper: Shaper<Data, Result>, key: string): string | undefined {
  try {
    return shaper.limits.resolve(key).limit
  } catch (error) {
    if (isVelvetRopeError(error, 'no-limit')) return undefined
    throw error
  }
}
