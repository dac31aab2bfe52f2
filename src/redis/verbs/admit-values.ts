import type { Rule } from '../../core/rule-book.ts'
import type { NamedRequest } from '../protocol/shared-backend.ts'
import { ruleValues, type SharedRules } from '../rules/shared-rules.ts'
import { encodeSettings } from '../scripts/settings-text.ts'

/** Jobs of one call that differ in no more than their id, their key, their trace and their data. */
interface Kind {
  readonly first: NamedRequest
  readonly rule: Rule | undefined
}

/**
 * What the script `admit` is given about its jobs. Most are of one kind, which is written once: the fewer values travel,
 * the less Redis has to read.
 */
export function admitValues(
  requests: readonly NamedRequest[],
  rules: SharedRules,
  shards: number,
): (string | number)[] {
  const { book, version } = rules
  const kinds: Kind[] = []
  const jobs: (string | number)[] = []
  for (const request of requests) {
    const rule = book.find(request.key)
    let kind = kinds.findIndex((known) => known.rule === rule && isAlike(known.first, request))
    if (kind === -1) kind = kinds.push({ first: request, rule }) - 1
    jobs.push(request.id, request.key, kind + 1, request.traceparent ?? '', request.data)
  }
  return [version, shards, kinds.length, ...kinds.flatMap(kindValues), ...jobs]
}

function isAlike(a: NamedRequest, b: NamedRequest): boolean {
  return a.settings === b.settings && a.cost === b.cost && a.deadline === b.deadline
}

function kindValues({ first: { cost, deadline, settings }, rule }: Kind): (string | number)[] {
  const until = deadline === Number.POSITIVE_INFINITY ? 'inf' : deadline
  return [cost, until, encodeSettings(settings), ...ruleValues(rule)]
}
