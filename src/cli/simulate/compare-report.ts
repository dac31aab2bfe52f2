import type { Limit } from '../../core/limit.ts'
import type { Comparison, PolicyResult } from '../../simulate/comparison.ts'
import { leftOutNote } from '../../simulate/comparison-picture.ts'
import type { Policy } from '../../simulate/policies/policy.ts'
import { alignBins } from '../../simulate/spread-points.ts'
import { formatCount } from '../numbers.ts'
import { resample, spark } from '../spark.ts'
import { type Column, renderFacts, renderTable } from '../table.ts'
import { paint } from '../terminal.ts'

const COLUMNS: readonly Column[] = [
  { title: 'policy' },
  { title: 'accepted', align: 'right' },
  { title: 'rejected', align: 'right' },
  { title: 'most in 1 s', align: 'right' },
  { title: 'smallest gap', align: 'right' },
  { title: 'starts over time' },
]
const PICTURE = 32

/** Renders the answer of `simulate --compare`: the table, and how each policy applies the limit. */
export function compareReport(comparison: Comparison, policies: readonly Policy[], limit: Limit): string {
  const results = comparison.results()
  const pictures = drawStarts(comparison)
  const rows = results.map((result, index) => {
    const row = [...cells(result), pictures.starts[index] ?? '']
    return index === results.length - 1
      ? row.map((cell) => (cell === '' ? cell : paint('magenta', cell)))
      : row
  })
  const arrivals = ['(arrivals)', '', '', '', '', paint('gray', pictures.arrivals)]
  return [
    renderTable(COLUMNS, [arrivals, ...rows]),
    '',
    'most in 1 s: the most starts of one key in any second. smallest gap: between two starts of one key, in',
    'intervals of the limit; 1 is even. The meter is the mirror image of the token bucket: the same verdicts.',
    ...leftOutNote(comparison),
    '',
    renderFacts(policies.map((policy) => [policy.name, policy.mapping(limit)])),
  ].join('\n')
}

function cells(result: PolicyResult): string[] {
  return [
    result.policy,
    formatCount(result.accepted),
    formatCount(result.rejected),
    formatCount(result.mostStartsInOneSecond),
    result.smallestGapByInterval === null ? '-' : result.smallestGapByInterval.toFixed(3),
  ]
}

/** Draws arrivals and starts on one scale and one axis. */
function drawStarts(comparison: Comparison): { arrivals: string; starts: readonly string[] } {
  const spread = comparison.spread()
  if (spread === undefined) return { arrivals: '', starts: [] }
  alignBins([spread.arrivals, ...spread.starts])
  const columns = [spread.arrivals, ...spread.starts].map(({ counts }) => resample(counts, PICTURE))
  const max = Math.max(...columns.flat())
  const [arrivals = '', ...starts] = columns.map((values) => spark(values, { width: PICTURE, max }))
  return { arrivals, starts }
}
