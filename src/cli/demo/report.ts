import { formatRate } from '../../core/rate.ts'
import type { DemoResult } from '../../demo/demo.ts'
import type { RunLog } from '../../demo/run-log.ts'
import { type Tally, tally } from '../../demo/tally.ts'
import { problemsOf } from '../../demo/verdict.ts'
import { formatSeconds } from '../numbers.ts'
import { type Column, renderTable } from '../table.ts'
import { paint } from '../terminal.ts'

const NONE = '-'
const NAME = 26
const CELL = 7

/** What is counted, and how it reads; some of it exists only behind the rope. */
const ROWS: readonly (readonly [name: string, cell: (tally: Tally, hasRope: boolean) => string])[] = [
  ['accepted', ({ accepted }, hasRope) => (hasRope ? String(accepted) : NONE)],
  ['rejected', ({ rejected }, hasRope) => (hasRope ? String(rejected) : NONE)],
  ['calls', ({ calls }) => String(calls)],
  ['429s', ({ refused }) => paint(refused > 0 ? 'red' : 'green', String(refused))],
  ['smallest gap / interval', ({ smallestGap }) => ratio(smallestGap)],
  ['achieved / configured rate', ({ utilisation }) => ratio(utilisation)],
  [
    'longest wait',
    ({ longestWaitMs }, hasRope) => (hasRope ? `${(longestWaitMs / 1_000).toFixed(2)} s` : NONE),
  ],
]

/** What the demo showed: the table, what the turned away were told, and the verdict. */
export function demoReport(result: DemoResult): string {
  return [
    renderTallies(result),
    '',
    'Gaps and rates as the API saw them; it forgives a tenth of an interval.',
    describeRejected(result),
    '',
    conclude(result),
  ].join('\n')
}

function renderTallies({ without, behind }: DemoResult): string {
  const pairs = behind.accounts.map((log, index) => [tally(without.accounts[index]!), tally(log)] as const)
  const columns: Column[] = [
    { title: ''.padEnd(NAME) },
    ...pairs.flatMap(() => [cellColumn('without'), cellColumn('behind')]),
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
  const told = behind.accounts.flatMap(({ rejections }) => rejections.map(({ retryAfterMs }) => retryAfterMs))
  const cameBack = behind.accounts.reduce((sum, account) => sum + account.cameBack, 0)
  if (told.length === 0) return 'Nobody was turned away.'
  const from = formatSeconds(Math.min(...told) / 1_000)
  const to = formatSeconds(Math.max(...told) / 1_000)
  return (
    `Turned away at the rope: ${told.length}, told to come back in ${from} to ${to}.\n` +
    `Of these, ${cameBack} came back when they were told to, and got in.`
  )
}

function conclude(result: DemoResult): string {
  const problems = problemsOf(result)
  if (problems.length > 0) {
    return [...problems, describeProblems(result)].join('\n')
  }
  const calls = (run: RunLog) => run.accounts.reduce((sum, account) => sum + account.calls.length, 0)
  const { without, behind } = result
  return (
    `${paint('green', 'ok')}: every law kept; 429s without the rope: ${without.refused} of ${calls(without)} calls, ` +
    `behind it: 0 of ${calls(behind)}`
  )
}

function describeProblems({ breaches, behind }: DemoResult): string {
  const broken = paint('red', 'broken')
  if (breaches.length > 0 || behind.errors.length > 0) {
    return `${broken}: the rope did not hold what it promises`
  }
  return (
    `${broken}: 429s, although every law kept: the API is stricter than the rope,\n` +
    'or a busy machine held calls up between their handlers and the API'
  )
}

function ratio(value: number): string {
  return Number.isFinite(value) ? value.toFixed(3) : NONE
}
