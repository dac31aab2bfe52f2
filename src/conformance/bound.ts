import { quote } from '../core/describe.ts'
import type { AnswerEvent, Breach } from './history.ts'
import { isLive } from './job-record.ts'
import type { KeyRecord } from './key-record.ts'
import { instant, type OpenCheck, type Report } from './law.ts'
import type { Ledger } from './ledger.ts'
import { unitsOf } from './news.ts'
import { unitsIn } from './quota-book.ts'

/**
 * L1, the verdicts: never more than `capacity` cost units wait, and no job is rejected as full while there is room.
 * While a change of limit settles, the largest capacity in force judges an acceptance and the smallest one a rejection.
 * Units hit by a fault may or may not wait again: they are counted in favour of the shaper. So are, for a rejection,
 * jobs that started within the last `lag`, and for an acceptance, jobs that returned within it.
 */
export const bound: OpenCheck = (ledger, _options, report) => ({
  see(event) {
    if (event.type !== 'answer') return
    const key = ledger.key(event.key)
    const capacities = key.limitsAt(event.at).map((limit) => limit.capacity)
    if (event.accepted) judgeAcceptance(event, key, Math.max(...capacities), ledger, report)
    else judgeRefusal(event, key, Math.min(...capacities), report)
  },
})

function breach({ at, key, id }: AnswerEvent, message: string): Breach {
  return { law: 'L1', at, key, id, message }
}

function judgeAcceptance(
  event: AnswerEvent,
  key: KeyRecord,
  capacity: number,
  ledger: Ledger,
  report: Report,
): void {
  const known = ledger.job(event.id)
  // A second acceptance of the same job adds nothing to the line; L5 reports it.
  if (known !== undefined && isLive(known)) return
  const unheard = unitsOf(key.news.mayNotBeIn(event.at, ['waiting', 'returned']))
  const waiting = key.waiting - unheard + event.cost
  if (waiting <= capacity) return
  const expected = capacity < 0 ? 'a limit before the first job' : `at most ${capacity}`
  report(
    breach(
      event,
      `key ${quote(event.key)}: the acceptance of job ${quote(event.id)} (cost ${event.cost}) at ` +
        `${instant(event.at)} made ${waiting} cost units wait, expected ${expected}`,
    ),
  )
}

function judgeRefusal(
  event: AnswerEvent & { accepted: false },
  key: KeyRecord,
  capacity: number,
  report: Report,
): void {
  if (event.reason !== 'full' && event.reason !== 'too-costly') return
  if (capacity === Number.POSITIVE_INFINITY) return
  if (event.reason === 'too-costly' && exceedsQuota(event, key)) return
  const waiting = event.reason === 'full' ? mostWaiting(event, key) : 0
  if (waiting + event.cost > capacity) return
  report(
    breach(
      event,
      `key ${quote(event.key)}: job ${quote(event.id)} (cost ${event.cost}) was refused as ${event.reason} at ` +
        `${instant(event.at)} while ${key.waiting} cost units waited, expected room for ${capacity}`,
    ),
  )
}

/** Whether it counts more than the whole amount of a quota in force: it would never start. */
function exceedsQuota(event: AnswerEvent, key: KeyRecord): boolean {
  return key
    .limitsAt(event.at)
    .some((limit) => limit.quotas.some((quota) => unitsIn(quota, event) > quota.amount))
}

function mostWaiting({ at }: AnswerEvent, key: KeyRecord): number {
  const unheard = unitsOf(key.news.mayBeIn(at, ['waiting', 'returned', 'interrupted']))
  return key.waiting + key.interrupted + unheard
}
