import type { Session } from '../../../http/wire.ts'
import type { TableQuery } from '../data/page-url.ts'
import { may } from '../data/session.ts'
import { BucketTable } from './bucket-table.tsx'
import { FamilyList } from './family-list.tsx'
import { FlowCard } from './flow-card.tsx'
import { Totals } from './totals.tsx'

interface OverviewProps {
  readonly session: Session
  readonly query: TableQuery
}

/** The overview: the chart, the totals and the table of buckets. */
export function Overview({ session, query }: OverviewProps) {
  return (
    <>
      <h1 class="sr-only">Overview</h1>
      <FlowCard />
      <Totals />
      <FamilyList session={session} prefix={query.prefix} />
      <BucketTable query={query} isAdmin={may(session, 'admin')} />
    </>
  )
}
