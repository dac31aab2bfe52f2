import { formatRate } from '../../core/rate.ts'
import type { DemoResult } from '../../demo/demo.ts'
import type { RunLog } from '../../demo/run-log.ts'
import { type Tally, tally } from '../../demo/tally.ts'
import { FLOOD, OTHER } from '../../demo/tenants.ts'
import { breachesOf, errorsOf, problemsOf } from '../../demo/verdict.ts'
import { formatSeconds } from '../numbers.ts'
import { type Column, renderTable } from '../table.ts'
import { paint } from '../terminal.ts'
import { formatWait } from './tenants-screen.ts'

const NONE = '-'
const NAME = 26
const CELL = 7

/** The rows of the table; some apply only with velvet-rope. */
const ROWS: readonly (readonly [name: string, cell: (tally: Tally, isShaped: boolean) => string])[] = [
  ['accepted', ({ accepted }, isShaped) => (isShaped ? String(accepted) : NONE)],
  ['rejected', ({ rejected }, isShaped) => (isShaped ? String(rejected) : NONE)],
  ['calls', ({ calls }) => String(calls)],
  ['429s', ({ refused }) => paint(refused > 0 ? 'red' : 'green', String(refused))],
  ['smallest gap / interval', ({ smallestGap }) => ratio(smallestGap)],
  ['achieved / configured rate', ({ utilisation }) => ratio(utilisation)],
  [
    'longest wait',
    ({ longestWaitMs }, isShaped) => (isShaped ? `${(longestWaitMs / 1_000).toFixed(2)} s` : NONE),
  ],
]

/** Renders the result: the table, the rejections, and the conclusion. */
export function demoReport(result: DemoResult): string {
  return [
    renderTallies(result),
    '',
    'Gaps and rates as the API saw them; it tolerates a tenth of an interval.',
    describeRejected(result),
    '',
    ...describeTenants(result),
    conclude(result),
  ].join('\n')
}

function renderTallies({ without, behind }: DemoResult): string {
  const pairs = behind.accounts.map((log, index) => [tally(without.accounts[index]!), tally(log)] as const)
  const columns: Column[] = [
    { title: ''.padEnd(NAME) },
    ...pairs.flatMap(() => [cellColumn('without'), cellColumn('with')]),
  ]
  const rows = ROWS.map(([name, cell]) => [
    name,
    ...pairs.flatMap(([a, b]) => [cell(a, false), cell(b, true)]),
  ])
  const accounts = behind.accounts.map(({ account }) =>
    `${account.key}, ${formatRate(account.limit.rate)}`.padStart(2 * CELL + 2),
  )
  return `${' '.repeat(NAME)}  ${accounts.join('  ')}\n${renderTable(columns, rows)}`
}

function cellColumn(title: string): Column {
  return { title: title.padStart(CELL), align: 'right' }
}

function describeRejected({ behind }: DemoResult): string {
  const waits = behind.accounts.flatMap(({ rejections }) =>
    rejections.map(({ retryAfterMs }) => retryAfterMs),
  )
  const cameBack = behind.accounts.reduce((sum, account) => sum + account.cameBack, 0)
  if (waits.length === 0) return 'No job was rejected.'
  const from = formatSeconds(Math.min(...waits) / 1_000)
  const to = formatSeconds(Math.max(...waits) / 1_000)
  return (
    `Rejected: ${waits.length} jobs, with retryAfterMs of ${from} to ${to}.\n` +
    `Of these, ${cameBack} were enqueued again after that time, and accepted.`
  )
}

function describeTenants({ tenants }: DemoResult): string[] {
  const [oneLine, shared] = tenants
  if (oneLine === undefined || shared === undefined) return []
  const [before, after] = [oneLine, shared].map((log) => formatWait(log, OTHER.name))
  return [
    `Beside the flood of ${FLOOD.name}, ${OTHER.name} waited up to ${before} with one line for the account, and ${after} with its share.`,
    '',
  ]
}

function conclude(result: DemoResult): string {
  const problems = problemsOf(result)
  if (problems.length > 0) {
    return [...problems, describeProblems(result)].join('\n')
  }
  const calls = (run: RunLog) => run.accounts.reduce((sum, account) => sum + account.calls.length, 0)
  const { without, behind } = result
  return (
    `${paint('green', 'ok')}: every guarantee kept; 429s without velvet-rope: ${without.refused} of ${calls(without)} calls, ` +
    `with it: 0 of ${calls(behind)}`
  )
}

function describeProblems(result: DemoResult): string {
  const broken = paint('red', 'broken')
  if (breachesOf(result).length > 0 || errorsOf(result).length > 0) {
    return `${broken}: velvet-rope did not keep its guarantees`
  }
  return (
    `${broken}: 429s, although every guarantee was kept: the API is stricter than the limit,\n` +
    'or a busy machine delayed calls between their handlers and the API'
  )
}

function ratio(value: number): string {
  return Number.isFinite(value) ? value.toFixed(3) : NONE
}
