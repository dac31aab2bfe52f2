import type { ListedRule, RuleBookView } from '../../../core/rule-view.ts'
import { begin } from '../actions/action.ts'
import { isFamily } from '../data/family.ts'
import { formatMoment } from '../data/format.ts'
import { DEFAULT_SORT, type View } from '../data/page-url.ts'
import { visibleText } from '../data/shown-text.ts'
import { KeyText } from '../parts/key-text.tsx'
import { Link } from '../parts/link.tsx'
import { Menu, type MenuItem } from '../parts/menu.tsx'
import { OriginTag } from '../parts/origin-tag.tsx'

interface RuleTableProps {
  readonly book: RuleBookView
  readonly isAdmin: boolean
}

/** The rules and their origins. A local rule stands above the one that it hides. */
export function RuleTable({ book, isAdmin }: RuleTableProps) {
  const { limits, unset, local = [] } = book
  const hidden = new Set(local.map(({ pattern }) => pattern))
  const rules: ListedRule[] = [
    ...local.map((rule) => ({ ...rule, origin: 'local' as const })),
    ...limits,
    ...unset.map((rule) => ({ ...rule, limit: '', origin: 'override' as const })),
  ].sort(byPattern)
  if (rules.length === 0) {
    return (
      <div class="empty">
        <h3>No rules</h3>
        <p>Keys without a rule are refused, never unlimited.</p>
      </div>
    )
  }
  return (
    <div class="table-frame">
      <table class="rule-table">
        <caption class="sr-only">The rules, in the order of their patterns</caption>
        <thead>
          <tr>
            <th scope="col">Pattern</th>
            <th scope="col">Limit</th>
            <th scope="col">Origin</th>
            <th scope="col" class="rank-2">
              Set by
            </th>
            <th scope="col" class="rank-1">
              Since
            </th>
            <th scope="col" class="col-menu">
              <span class="sr-only">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rules.map((rule) => (
            <RuleRow
              key={`${rule.origin === 'local'} ${rule.pattern}`}
              rule={rule}
              isHidden={rule.origin !== 'local' && hidden.has(rule.pattern)}
              isAdmin={isAdmin}
            />
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface RuleRowProps {
  readonly rule: ListedRule
  readonly isHidden: boolean
  readonly isAdmin: boolean
}

function RuleRow({ rule, isHidden, isAdmin }: RuleRowProps) {
  const { pattern, limit, origin, by, at } = rule
  return (
    <tr class={isHidden ? 'is-hidden-rule' : undefined}>
      <th scope="row" class="col-pattern">
        <Link
          to={viewOf(pattern)}
          class="row-link"
          title={
            isFamily(pattern) ? 'Show the families under this total' : 'Show the buckets under this rule'
          }
        >
          <KeyText text={pattern} most={48} />
        </Link>
        {isFamily(pattern) && <span class="tag is-quiet">total</span>}
      </th>
      <td class="col-limit">
        {limit === '' ? <small>unset by hand</small> : <span class="limit-text">{limit}</span>}
        {isHidden && <small> hidden by the local rule</small>}
      </td>
      <td>
        <OriginTag origin={origin} />
      </td>
      <td class="rank-2">
        {by === undefined ? <span class="none">–</span> : <KeyText text={by} most={24} />}
      </td>
      <td class="rank-1">{at === undefined ? <span class="none">–</span> : formatMoment(at)}</td>
      <td class="col-menu">
        {isAdmin && <Menu label={`Actions for the rule ${visibleText(pattern)}`} items={ruleActions(rule)} />}
      </td>
    </tr>
  )
}

/** The buckets that the rule governs, or the family whose sum it limits. */
function viewOf(pattern: string): View {
  if (!isFamily(pattern)) return { name: 'overview', query: { sort: DEFAULT_SORT, pattern } }
  return pattern.includes('*')
    ? { name: 'overview', query: { sort: DEFAULT_SORT } }
    : { name: 'family', path: pattern }
}

function ruleActions({ pattern, limit, origin }: ListedRule): MenuItem[] {
  if (origin === 'local') {
    return [{ icon: 'undo', text: 'Remove local rule…', act: () => begin({ kind: 'unset-local', pattern }) }]
  }
  const isByHand = origin === 'override'
  if (limit === '') return [{ icon: 'undo', text: 'Reset…', act: () => begin({ kind: 'reset', pattern }) }]
  return [
    { icon: 'limit', text: 'Change limit…', act: () => begin({ kind: 'limit', pattern, limit }) },
    ...(isByHand
      ? [{ icon: 'undo', text: 'Reset…', act: () => begin({ kind: 'reset', pattern }) } as const]
      : []),
    { icon: 'bin', text: 'Remove rule…', act: () => begin({ kind: 'unset', pattern }) },
  ]
}

const RANK: Readonly<Partial<Record<ListedRule['origin'], number>>> = { local: 0 }

/** Orders by pattern, which puts `*` first; a local rule before the one that it hides. */
function byPattern(one: ListedRule, other: ListedRule): number {
  if (one.pattern === other.pattern) return (RANK[one.origin] ?? 1) - (RANK[other.origin] ?? 1)
  return one.pattern < other.pattern ? -1 : 1
}
