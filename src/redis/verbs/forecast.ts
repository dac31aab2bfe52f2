import { accepted, rejected } from '../../core/admission.ts'
import { NoLimitError } from '../../core/errors.ts'
import type { Admission } from '../../core/job.ts'
import { REJECT_REASONS } from '../../core/verdict.ts'
import { agreed } from '../rules/agreed.ts'
import { ruleValues } from '../rules/book.ts'
import type { RedisRules } from '../rules/redis-rules.ts'
import { list, number, oneOf, word } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'

const reply = list(
  oneOf({
    ok: {
      at: number,
      verdict: oneOf({
        yes: { position: number, departsAt: number, waiting: number, capacity: number },
        no: { reason: word(...REJECT_REASONS), retryAt: number, waiting: number, capacity: number },
      }),
    },
    'old-book': { version: number },
  }),
)
const script = defineScript('forecast', import.meta.url, reply)

/** The verdict that `admit` would give; writes nothing. @throws NoLimitError */
export function forecastVerb(store: Store, rules: RedisRules) {
  return async (key: string, cost: number, now?: number): Promise<Admission> => {
    const shard = store.shardOf(key)
    const { at, verdict } = await agreed(rules, shard, () => {
      const rule = rules.book.find(key)
      if (rule === undefined) throw new NoLimitError(key)
      return store.read(script, shard, [rules.version, key, cost, ...ruleValues(rule)], now)
    })
    if (verdict.kind === 'no') return rejected(key, verdict.reason, verdict, at)
    return accepted('', key, verdict, at)
  }
}
