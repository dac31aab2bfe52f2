import { formatFilter } from '../data/filter.ts'
import { tableProblem } from '../data/live.ts'
import type { TableQuery } from '../data/page-url.ts'
import { useStore } from '../parts/hooks.ts'
import { Link } from '../parts/link.tsx'

interface EmptyTableProps {
  readonly query: TableQuery
  /** Whether the service has answered. */
  readonly isKnown: boolean
}

/** Shown in place of the table while it has no rows: why, or a skeleton. */
export function EmptyTable({ query, isKnown }: EmptyTableProps) {
  const problem = useStore(tableProblem)
  if (problem !== undefined) {
    return (
      <div class="empty">
        <h3>
          {problem.status === 403
            ? 'This token has no access to these buckets'
            : 'The buckets cannot be shown'}
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
        <p>Only live buckets are shown: those with jobs, or whose next departure is still to come.</p>
        <Link to={{ name: 'overview', query: { sort: query.sort } }} class="button">
          Show all
        </Link>
      </div>
    )
  }
  return (
    <div class="empty">
      <EmptyPicture />
      <h3>No jobs waiting</h3>
      <p>A bucket appears with its first job, and disappears some time after it is empty.</p>
      <pre>
        <code>{EXAMPLE}</code>
      </pre>
    </div>
  )
}

const EXAMPLE = `curl ${location.origin}/v1/buckets/demo/jobs \\
  -H 'Content-Type: application/json' -d '{"data": "hello"}'`

function EmptyPicture() {
  return (
    <svg
      class="empty-picture"
      viewBox="0 0 240 72"
      width="240"
      height="72"
      aria-hidden="true"
      focusable="false"
    >
      <path class="picture-line" d="M30 20C50 52 100 52 120 20C140 52 190 52 210 20" />
      <path class="picture-post" d="M30 16v48M120 16v48M210 16v48M20 66h20M110 66h20M200 66h20" />
      <circle class="picture-knob" cx="30" cy="12" r="6" />
      <circle class="picture-knob" cx="120" cy="12" r="6" />
      <circle class="picture-knob" cx="210" cy="12" r="6" />
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
