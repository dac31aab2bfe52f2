import { InvalidLimitError } from '../../core/errors.ts'
import { isRolling } from '../../core/quota.ts'
import type { Rule } from '../../core/rule-book.ts'
import type { RuleChange } from '../../core/rule-layers.ts'

/** @throws InvalidLimitError for a quota by the calendar: a shared line has no calendar yet */
export function assertRolling(rules: readonly Rule[]): void {
  const byCalendar = rules.find(({ limit }) => limit.quotas.some(({ window }) => !isRolling(window)))
  if (byCalendar === undefined) return
  throw new InvalidLimitError(
    `the limit of ${byCalendar.pattern} has a quota by the calendar of a time zone: these work in memory only so far; on Redis take a rolling one, such as '2000/day'`,
  )
}

/** The rules that a change brings. */
export function rulesOf(change: RuleChange): readonly Rule[] {
  if (change.kind === 'set') return [change.rule]
  return change.kind === 'load' ? change.rules : []
}
