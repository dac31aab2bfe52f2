import { quote } from '../core/describe.ts'
import { MILLISECOND } from '../core/duration.ts'
import { hasParts } from '../core/limit.ts'
import { ROUNDING } from './gcra.ts'
import type { AnswerEvent, HistoryEvent, StartEvent } from './history.ts'
import { inLine } from './job-record.ts'
import { instant, type LawCheck, type OpenCheck, type Report, span } from './law.ts'
import type { Ledger } from './ledger.ts'
import { slackOf } from './warming.ts'

type Refusal = AnswerEvent & { accepted: false }

/** A rejection whose promised time has not been checked yet. */
interface Pending {
  readonly refusal: Refusal
  /** When the next start was due, minus the time that the starts took since `Promises.elapsed` was 0. */
  readonly origin: number
  /** How much earlier it was due for a store that did not know of a freeze, or of late starts. */
  readonly sooner: number
  /** Something else than the pace may make room later. */
  readonly mayBeLater: boolean
}

interface Promises {
  /** The sum of `interval x cost` of the starts so far. */
  elapsed: number
  readonly byCost: Map<number, Pending[]>
}

/**
 * L1, the promise: a job rejected as 'full' gets the time when enough units will have departed at the configured rate,
 * not earlier (the retry would fail) and not later (capacity would be left unused).
 *
 * The checker does not predict that time but derives it from the line as it actually departed: from the time the next
 * start was due at the rejection, one `interval x cost` for each start until the one that made room. So a late handler
 * does not turn a correct promise into a breach. Anything else that changes the line (an acceptance, a return, a
 * cancel, an expiry, a freeze, a pause, a fault, a crash, a change of limit) discards the promises made before it,
 * unjudged; so does a job that waits for a retry, since an observer does not know its place. The grid of slots may be
 * up to the tolerance ahead of the starts, and so may the promise, which is given in whole milliseconds. If the job
 * that makes room is due already and still waits, no handler is free, and it is unknown when one will be: that promise
 * is an estimate and is not judged. Neither are promises that say they are estimates, or of a bucket that warms up, or made while a job hit by a fault
 * or a crash is in the line.
 *
 * Under a quota or a bound on what runs at once the promise may be later than the pace alone allows, and is only judged for being
 * too early: when there is room depends on what started and ran before.
 *
 * The promise may be later by `lag`, because its process may not know of the starts within it. It may be earlier within
 * the `lag` of a freeze: a slot that was reserved before either departs and makes room, or is given back, and an
 * observer cannot tell which. And it may be earlier by as much as the starts within the last `lag` were late, or as the
 * head of the line is overdue: the store counts from their slots until it learns of their starts.
 */
export const promise: OpenCheck = (ledger, options, report) =>
  new PromiseCheck(ledger, options.lag ?? 0, report)

class PromiseCheck implements LawCheck {
  readonly #ledger: Ledger
  readonly #lag: number
  readonly #report: Report
  readonly #promises = new Map<string, Promises>()

  constructor(ledger: Ledger, lag: number, report: Report) {
    this.#ledger = ledger
    this.#lag = lag
    this.#report = report
  }

  see(event: HistoryEvent): void {
    if (event.type === 'start') this.#start(event)
    else if (event.type === 'answer' && !event.accepted) this.#refuse(event)
    else this.#forget(event)
  }

  #refuse(refusal: Refusal): void {
    const key = this.#ledger.key(refusal.key)
    const [limit, ...settling] = key.limitsAt(refusal.at)
    const isSure = key.returned === 0 && key.interrupted === 0 && key.hit === 0
    // A bucket that warms up uses longer intervals.
    const isWarm = limit !== undefined && key.warming.isWarm(limit, refusal.at)
    const isClear =
      refusal.isEstimate !== true &&
      isSure &&
      isWarm &&
      key.pausedAt === undefined &&
      settling.length === 0 &&
      !key.counted.isForgotten
    if (refusal.reason !== 'full' || limit === undefined || !isClear) return
    // There is room that the store does not know of; how long that takes cannot be promised.
    if (key.waiting + refusal.cost <= limit.capacity) return
    let promises = this.#promises.get(refusal.key)
    if (promises === undefined) {
      promises = { elapsed: 0, byCost: new Map() }
      this.#promises.set(refusal.key, promises)
    }
    const free = Math.max(refusal.at, key.counted.due(limit))
    const due = Math.max(free, key.frozenUntil)
    // The head may have a slot that has passed, and start only now.
    const overdue = refusal.at - Math.max(key.counted.due(limit), key.frozenUntil)
    const late = key.unknownLateness(refusal.at) + Math.min(this.#lag, Math.max(0, overdue))
    const sooner = due - Math.max(free, key.knownFreezeAt(refusal.at)) + late
    const pending = { refusal, origin: due - promises.elapsed, sooner, mayBeLater: hasParts(limit) }
    const same = promises.byCost.get(refusal.cost)
    if (same === undefined) promises.byCost.set(refusal.cost, [pending])
    else same.push(pending)
  }

  #start(event: StartEvent): void {
    const promises = this.#promises.get(event.key)
    if (promises === undefined) return
    const job = this.#ledger.job(event.id)
    if (job === undefined || !inLine(job)) return void this.#promises.delete(event.key)
    const key = this.#ledger.key(event.key)
    const limit = key.limitsAt(event.at)[0]!
    const room = limit.capacity - (key.waiting - job.cost)
    for (const [cost, kept] of promises.byCost) {
      if (cost > room) continue
      promises.byCost.delete(cost)
      const allowed = limit.tolerance + slackOf(limit) + ROUNDING
      for (const pending of kept) this.#judge(pending, pending.origin + promises.elapsed, allowed)
    }
    if (promises.byCost.size === 0) this.#promises.delete(event.key)
    else promises.elapsed += limit.interval * job.cost
  }

  #judge({ refusal, sooner, mayBeLater }: Pending, expected: number, allowed: number): void {
    const late = refusal.retryAt - expected
    const isGuess = expected - allowed <= refusal.at
    if (isGuess || (late >= -allowed - sooner && (mayBeLater || late <= allowed + this.#lag + MILLISECOND)))
      return
    const wrong = late > 0 ? 'later than needed' : 'earlier than there is room'
    this.#report({
      law: 'L1',
      at: refusal.at,
      key: refusal.key,
      id: refusal.id,
      message:
        `key ${quote(refusal.key)}: job ${quote(refusal.id)}, rejected at ${instant(refusal.at)}, was asked to ` +
        `retry at ${instant(refusal.retryAt)}, ${span(Math.abs(late))} ${wrong}, expected ${instant(expected)}`,
    })
  }

  #forget(event: Exclude<HistoryEvent, StartEvent>): void {
    if (event.type === 'audit') return
    if (event.type === 'crash') return void this.#promises.clear()
    // Running jobs have left the line already.
    if (event.type === 'end' && (event.outcome === 'completed' || event.outcome === 'failed')) return
    const key = 'key' in event ? event.key : this.#ledger.job(event.id)?.key
    if (key !== undefined) this.#promises.delete(key)
  }
}
