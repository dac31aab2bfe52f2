import { formatFilter } from '../data/filter.ts'
import { tableProblem } from '../data/live.ts'
import type { TableQuery } from '../data/page-url.ts'
import { useStore } from '../parts/hooks.ts'
import { Link } from '../parts/link.tsx'

interface EmptyTableProps {
  readonly query: TableQuery
  /** The service has said that there is nothing. */
  readonly isKnown: boolean
}

/** Why there is no row. */
export function EmptyTable({ query, isKnown }: EmptyTableProps) {
  const problem = useStore(tableProblem)
  if (problem !== undefined) {
    return (
      <div class="empty">
        <h3>
          {problem.status === 403 ? 'This token may not see these buckets' : 'The buckets cannot be shown'}
        </h3>
        <p>{problem.message}</p>
      </div>
    )
  }
  if (!isKnown) return <Skeleton />
  if (query.cursor !== undefined || formatFilter(query) !== '') {
    return (
      <div class="empty">
        <h3>No bucket matches</h3>
        <p>Buckets that hold nothing, and could depart at once, do not exist: they are not shown.</p>
        <Link to={{ name: 'overview', query: { sort: query.sort } }} class="button">
          Show all
        </Link>
      </div>
    )
  }
  return (
    <div class="empty">
      <EmptyRope />
      <h3>No jobs waiting</h3>
      <p>A bucket appears when its first job lines up, and goes when it is empty and its time has passed.</p>
      <pre>
        <code>{EXAMPLE}</code>
      </pre>
    </div>
  )
}

const EXAMPLE = `curl ${location.origin}/v1/buckets/demo/jobs \\
  -H 'Content-Type: application/json' -d '{"data": "hello"}'`

function EmptyRope() {
  return (
    <svg class="empty-rope" viewBox="0 0 240 72" width="240" height="72" aria-hidden="true" focusable="false">
      <path class="rope-cord" d="M30 20C50 52 100 52 120 20C140 52 190 52 210 20" />
      <path class="rope-post" d="M30 16v48M120 16v48M210 16v48M20 66h20M110 66h20M200 66h20" />
      <circle class="rope-knob" cx="30" cy="12" r="6" />
      <circle class="rope-knob" cx="120" cy="12" r="6" />
      <circle class="rope-knob" cx="210" cy="12" r="6" />
    </svg>
  )
}

function Skeleton() {
  return (
    <div class="skeleton" aria-hidden="true">
      {Array.from({ length: 6 }, (_, index) => (
        <span key={index} />
      ))}
    </div>
  )
}
