import { quote } from '../core/describe.ts'
import { MILLISECOND } from '../core/duration.ts'
import { ROUNDING } from './gcra.ts'
import type { AnswerEvent, HistoryEvent, StartEvent } from './history.ts'
import { inLine } from './job-record.ts'
import { instant, type Law, type LawCheck, type Report, span } from './law.ts'
import type { Ledger } from './ledger.ts'
import { slackOf } from './warming.ts'

type Refusal = AnswerEvent & { accepted: false }

/** A refusal whose promise has not come due. */
interface Told {
  readonly refusal: Refusal
  /** When the next start was due, less the time that the starts since `Promises.elapsed` was 0 have taken. */
  readonly origin: number
  /** How much sooner it was due for a store that had not heard of a freeze, or of starts that were late. */
  readonly sooner: number
}

interface Promises {
  /** The sum of `interval x cost` of the starts so far. */
  elapsed: number
  readonly byCost: Map<number, Told[]>
}

/**
 * L1, the promise: whoever was refused as 'full' is told the time when enough units will have departed at the
 * configured rate, not earlier (the retry would fail) and not later (room would stand empty).
 *
 * That time is not predicted here but read off the line that really departed: from the time the next start was due
 * at the refusal, one `interval x cost` for each start until the one that made room. So a late handler changes
 * nothing: it makes no liar of the one who promised. Whatever else moves the line (an acceptance, a return, a cancel,
 * an expiry, a freeze, a pause, a fault, a crash, a change of limit) takes back what was promised before it, unjudged; so
 * does a job that waits to be tried again, since nobody outside knows its place. The grid of slots lies up to the
 * tolerance before the starts, and so may the promise, which is told in whole milliseconds. Where the head that makes
 * room is due already and still waits, no handler is free, and nobody can tell when one will be: that promise is a guess,
 * and not judged. Nor is one of a bucket that warms up, nor one while a job that a fault or a crash hit stands in the
 * line.
 *
 * Whoever promises may not have heard of the starts within the last `lag`, so the promise may be later by as much. It
 * may be earlier within the `lag` of a freeze: then a slot that was given away before departs still and makes room, or it
 * is given back, and from outside nobody can tell. And it may be earlier by as much as the starts within the last `lag`
 * were late: the store counts from their slots until it hears of them.
 */
export const promise: Law = (ledger, options, report) => new PromiseCheck(ledger, options.lag ?? 0, report)

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
    // A bucket that warms up counts with other intervals than its own.
    const isWarm = limit !== undefined && key.warming.isWarm(limit, refusal.at)
    const isClear =
      isSure && isWarm && key.pausedAt === undefined && settling.length === 0 && !key.counted.isForgotten
    if (refusal.reason !== 'full' || limit === undefined || !isClear) return
    // There is room, of which the store has not heard: how long that takes, nobody can promise.
    if (key.waiting + refusal.cost <= limit.capacity) return
    let promises = this.#promises.get(refusal.key)
    if (promises === undefined) {
      promises = { elapsed: 0, byCost: new Map() }
      this.#promises.set(refusal.key, promises)
    }
    const free = Math.max(refusal.at, key.counted.due(limit))
    const due = Math.max(free, key.frozenUntil)
    const sooner = due - Math.max(free, key.knownFreezeAt(refusal.at)) + key.unheardLateness(refusal.at)
    const told = { refusal, origin: due - promises.elapsed, sooner }
    const same = promises.byCost.get(refusal.cost)
    if (same === undefined) promises.byCost.set(refusal.cost, [told])
    else same.push(told)
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
      for (const told of kept) this.#judge(told, told.origin + promises.elapsed, allowed)
    }
    if (promises.byCost.size === 0) this.#promises.delete(event.key)
    else promises.elapsed += limit.interval * job.cost
  }

  #judge({ refusal, sooner }: Told, expected: number, allowed: number): void {
    const late = refusal.retryAt - expected
    const isGuess = expected - allowed <= refusal.at
    if (isGuess || (late >= -allowed - sooner && late <= allowed + this.#lag + MILLISECOND)) return
    const wrong = late > 0 ? 'later than needed' : 'earlier than there can be room'
    this.#report({
      law: 'L1',
      at: refusal.at,
      key: refusal.key,
      id: refusal.id,
      message:
        `key ${quote(refusal.key)}: job ${quote(refusal.id)}, refused at ${instant(refusal.at)}, was told to come ` +
        `back at ${instant(refusal.retryAt)}, ${span(Math.abs(late))} ${wrong}, expected ${instant(expected)}`,
    })
  }

  #forget(event: Exclude<HistoryEvent, StartEvent>): void {
    if (event.type === 'audit') return
    if (event.type === 'crash') return void this.#promises.clear()
    // Those who end while they run have left the line already.
    if (event.type === 'end' && (event.outcome === 'completed' || event.outcome === 'failed')) return
    const key = 'key' in event ? event.key : this.#ledger.job(event.id)?.key
    if (key !== undefined) this.#promises.delete(key)
  }
}
