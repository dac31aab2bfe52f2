import { quote } from '../core/describe.ts'
import { ROUNDING } from './gcra.ts'
import { HeldBack } from './held-back.ts'
import type { CheckOptions, HistoryEvent, StartEvent } from './history.ts'
import { isRunning } from './job-record.ts'
import { instant, type LawCheck, type OpenCheck, type Report } from './law.ts'
import type { Ledger } from './ledger.ts'

/** Departures of one key that could have followed each other at the full rate. */
interface Stretch {
  departures: number
  readonly firstAt: number
  lastAt: number
  /**
   * The time that all but the last take at the configured rate: the sum of `interval x cost`, longer during a warm-up.
   */
  due: number
}

/**
 * L3: while a key has work and a handler is free, departures keep the configured rate. A stretch continues as long as
 * the next job to start was waiting when its slot came, a handler was free from then on, and nothing interrupted the
 * key (a freeze, its end, a pause, a change of limit, a crash), and neither a quota nor a bound on what runs at once may have kept it
 * back. A quota is counted in parts of its window, so a start may count for a sixtieth of that longer. It takes up to `lag` until other processes know of a
 * waiting job or a free handler. Each stretch of at least `shortestStretch` departures must reach `minUtilisation`.
 */
export const rate: OpenCheck = (ledger, options, report) => {
  const { minUtilisation } = options
  return minUtilisation === undefined ? { see() {} } : new RateCheck(ledger, minUtilisation, options, report)
}

class RateCheck implements LawCheck {
  readonly #ledger: Ledger
  readonly #minUtilisation: number
  readonly #shortest: number
  readonly #concurrency: number
  readonly #lag: number
  readonly #report: Report
  readonly #heldBack: HeldBack
  readonly #stretches = new Map<string, Stretch>()
  /** The last time at which every handler was busy. */
  #takenUntil = Number.NEGATIVE_INFINITY

  constructor(ledger: Ledger, minUtilisation: number, options: CheckOptions, report: Report) {
    this.#ledger = ledger
    this.#minUtilisation = minUtilisation
    this.#shortest = options.shortestStretch ?? 20
    this.#concurrency = options.concurrency ?? Number.POSITIVE_INFINITY
    this.#lag = options.lag ?? 0
    this.#report = report
    this.#heldBack = new HeldBack(ledger, options)
  }

  see(event: HistoryEvent): void {
    switch (event.type) {
      case 'limit':
      case 'freeze':
      case 'unfreeze':
      case 'pause':
      case 'resume':
        this.#close(event.key)
        break
      case 'crash':
        this.finish()
        break
      case 'return':
      case 'end':
        if (this.#allTaken() && this.#runs(event.id)) this.#takenUntil = event.at
        break
      case 'start':
        this.#start(event)
        break
    }
    this.#heldBack.see(event)
  }

  finish(): void {
    for (const key of [...this.#stretches.keys()]) this.#close(key)
  }

  #start(event: StartEvent): void {
    const key = this.#ledger.key(event.key)
    const [limit] = key.limitsAt(event.at)
    const stretch = this.#stretches.get(event.key)
    // The last start may not have known of a freeze: until that is over, no other may follow.
    if (stretch !== undefined && limit !== undefined && key.frozenUntil <= stretch.lastAt) {
      const due = key.warming.due(limit)
      const slot = stretch.lastAt + due
      if (this.#couldStartAt(slot, event.id) && !this.#heldBack.mayHave(event, slot)) {
        stretch.departures += 1
        stretch.due += due
        stretch.lastAt = event.at
        return
      }
    }
    this.#close(event.key)
    const { at } = event
    this.#stretches.set(event.key, { departures: 1, firstAt: at, lastAt: at, due: 0 })
  }

  #couldStartAt(slot: number, id: string): boolean {
    const readySince = this.#ledger.job(id)?.readySince ?? Number.POSITIVE_INFINITY
    const known = slot - this.#lag + ROUNDING
    return readySince <= known && this.#takenUntil <= known && !this.#allTaken()
  }

  #allTaken(): boolean {
    const { running, interrupted } = this.#ledger.counts
    return running + interrupted >= this.#concurrency
  }

  #runs(id: string): boolean {
    const job = this.#ledger.job(id)
    return job !== undefined && isRunning(job)
  }

  #close(key: string): void {
    const stretch = this.#stretches.get(key)
    this.#stretches.delete(key)
    if (stretch === undefined || stretch.departures < this.#shortest) return
    const { departures, firstAt, lastAt, due } = stretch
    const utilisation = due / (lastAt - firstAt)
    if (utilisation >= this.#minUtilisation) return
    this.#report({
      law: 'L3',
      at: lastAt,
      key,
      message:
        `key ${quote(key)}: ${departures} departures with work at every slot, from ${instant(firstAt)} to ` +
        `${instant(lastAt)}, had ${percent(utilisation)} of the configured rate, ` +
        `expected at least ${percent(this.#minUtilisation)}`,
    })
  }
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)} %`
}
