import type { LayeredBook } from '../../core/layered-book.ts'
import type { Limit } from '../../core/limit.ts'
import type { Rule } from '../../core/rule-book.ts'
import { UnknownZoneError } from '../../core/rule-errors.ts'
import { unknownZone } from '../../core/window-input.ts'
import { RULES } from '../scripts/zone-tables.ts'

const ZONES = new WeakMap<Limit, { readonly unknown: string | undefined }>()

/** The time zone of the limit that this process does not know, if there is one: the process that has set the limit knows it. */
export function zoneUnknownHere(limit: Limit): string | undefined {
  const known = ZONES.get(limit)
  if (known !== undefined) return known.unknown
  const unknown = unknownZone(limit.quotas)
  ZONES.set(limit, { unknown })
  return unknown
}

/**
 * The rule of a key under which this process may admit it, if a rule applies. It cannot write when the clocks of a zone are set that it
 * does not know, and a process that knows it may be gone.
 *
 * @throws UnknownZoneError
 */
export function ruleToAdmit(book: Pick<LayeredBook, 'find'>, key: string): Rule | undefined {
  const rule = book.find(key)
  const zone = rule && zoneUnknownHere(rule.limit)
  if (rule !== undefined && zone !== undefined) throw new UnknownZoneError(rule.pattern, zone, RULES)
  return rule
}

/** Reports the time zones of the rule book that this process does not know. */
export class UnknownZones {
  #seen: LayeredBook | undefined
  #reported: ReadonlySet<string> = new Set()

  /** Returns one error for each zone, once, until no rule names the zone any more. */
  follow(book: LayeredBook): UnknownZoneError[] {
    if (book === this.#seen) return []
    this.#seen = book
    const patterns = new Map<string, string[]>()
    for (const { pattern, limit } of book.list()) {
      const zone = zoneUnknownHere(limit)
      if (zone === undefined) continue
      const others = patterns.get(zone)
      if (others === undefined) patterns.set(zone, [pattern])
      else others.push(pattern)
    }
    const fresh = [...patterns].filter(([zone]) => !this.#reported.has(zone))
    this.#reported = new Set(patterns.keys())
    return fresh.map(([zone, [first, ...others]]) => new UnknownZoneError(first!, zone, RULES, others.length))
  }
}
