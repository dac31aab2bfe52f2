import { accepted, rejected } from '../../core/admission.ts'
import { NoLimitError } from '../../core/errors.ts'
import type { Admission } from '../../core/job.ts'
import type { Costs } from '../../core/usage.ts'
import { REJECT_REASONS } from '../../core/verdict.ts'
import { lastHoldOf } from '../../line/parts-view.ts'
import { lastHoldUnder } from '../../line/totals-text.ts'
import { agreed } from '../rules/agreed.ts'
import { quotaText, ruleValues } from '../rules/book.ts'
import type { RedisRules } from '../rules/redis-rules.ts'
import { ruleToAdmit } from '../rules/unknown-zones.ts'
import { flag, list, number, oneOf, optional, rest, row, word } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import { byTotal, rejectedByTotal, totalRow } from './by-total.ts'
import { costsText } from './settings-text.ts'

/** The last quota that holds a job or one before it, as `usage.held` of scripts/lib/held.lua has it. */
export const lineHold = row({
  index: number,
  until: number,
  units: number,
  needed: number,
  used: number,
  isOwn: flag,
})
const heldRow = row({
  frozenUntil: number,
  paused: flag,
  isFull: flag,
  quota: optional(lineHold),
})
const place = { position: number, departsAt: number, waiting: number, capacity: number }
const accepts = { ...place, held: list(optional(heldRow)), totals: rest(totalRow) }
const refuses = { reason: word(...REJECT_REASONS), retryAt: number, waiting: number, capacity: number }
const reply = list(
  oneOf({
    ok: {
      at: number,
      verdict: oneOf({
        yes: accepts,
        'yes~': accepts,
        no: refuses,
        'no~': refuses,
        under: byTotal,
        above: { quota: number, waiting: number, capacity: number },
      }),
    },
    'old-book': { version: number },
  }),
)
const script = defineScript('forecast', import.meta.url, reply)

/** The verdict that `admit` would give; writes nothing. @throws NoLimitError, UnknownZoneError */
export function forecastVerb(store: Store, rules: RedisRules) {
  return async (key: string, cost: number, now?: number, costs?: Costs): Promise<Admission> => {
    const shard = store.shardOf(key)
    const { found, book } = await agreed(rules, shard, (asked) => {
      const rule = ruleToAdmit(asked, key)
      if (rule === undefined) throw new NoLimitError(key)
      return store.read(
        script,
        shard,
        [rules.version, key, cost, ...ruleValues(rule, asked.totalsOf(key)), `-${costsText(costs)}`],
        now,
      )
    })
    const { at, verdict } = found
    const { kind } = verdict
    if (kind === 'above')
      return rejected(
        key,
        'too-costly',
        { ...verdict, retryAt: Infinity, quota: quotaText(book, key, verdict.quota) },
        at,
      )
    if (kind === 'under') return rejectedByTotal(key, verdict, at, book)
    const estimate = (kind === 'yes~' || kind === 'no~') && { isEstimate: true as const }
    if ('reason' in verdict) return rejected(key, verdict.reason, { ...verdict, ...estimate }, at)
    const { position, departsAt, held, totals } = verdict
    const answer = accepted('', key, { ...verdict, ...estimate }, at)
    const limit = book.find(key)?.limit
    const own = held && limit && lastHoldOf({ ahead: position - 1, departsAt, ...held }, limit, at)
    const isStanding = own?.reason === 'paused' || own?.reason === 'place'
    const heldBy = (isStanding ? undefined : lastHoldUnder(totals, departsAt, at)) ?? own
    return heldBy ? { ...answer, heldBy } : answer
  }
}
