import type { TargetedKeyboardEvent } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { formatTotal } from '../data/format.ts'
import { lookUp, table } from '../data/live.ts'
import { type TableQuery, writeTableQuery } from '../data/page-url.ts'
import { nextRows, type Row } from '../data/shown-rows.ts'
import { useStore } from '../parts/hooks.ts'
import { BucketRow } from './bucket-row.tsx'
import { TableHead } from './columns.tsx'
import { EmptyTable } from './empty-table.tsx'
import { FilterBox } from './filter-box.tsx'
import { Pager } from './pager.tsx'

interface BucketTableProps {
  readonly query: TableQuery
  readonly isAdmin: boolean
}

/** The table of live buckets. While the pointer or the focus is among the rows, their order is held. */
export function BucketTable({ query, isAdmin }: BucketTableProps) {
  const latest = useStore(table)
  const [isPointed, setPointed] = useState(false)
  const [isFocused, setFocused] = useState(false)
  const shown = useRef<{ readonly query: string; readonly rows: readonly Row[] }>({ query: '', rows: [] })
  const text = writeTableQuery(query)
  useEffect(() => {
    const abort = new AbortController()
    void lookUp(query, abort.signal)
    return () => abort.abort()
  }, [text])
  const isHeld = isPointed || isFocused
  const isCurrent = latest?.query === text
  if (latest !== undefined) {
    const isSameQuery = shown.current.query === latest.query
    const rows = nextRows(shown.current.rows, latest.page.buckets, isHeld && isSameQuery)
    shown.current = { query: latest.query, rows }
  }
  const { rows } = shown.current
  return (
    <section class="buckets" aria-labelledby="buckets-title">
      <header class="buckets-head">
        <h2 id="buckets-title">
          Buckets{' '}
          {isCurrent && <span class="count">{formatTotal(latest.page.total, latest.page.isAtLeast)}</span>}
        </h2>
        <FilterBox query={query} />
      </header>
      <div
        class={`table-frame ${isCurrent ? '' : 'is-stale'}`}
        onPointerEnter={(event) => setPointed(event.pointerType === 'mouse')}
        onPointerLeave={() => setPointed(false)}
      >
        <p class={`held-note ${isHeld && rows.length > 0 ? 'is-shown' : ''}`} aria-hidden="true">
          order held while the pointer is here
        </p>
        <table class="bucket-table" aria-busy={!isCurrent} hidden={rows.length === 0}>
          <caption class="sr-only">
            Live buckets. The numbers update by themselves; the order is held while the focus is in the table.
          </caption>
          <TableHead query={query} />
          <tbody
            onFocusIn={() => setFocused(true)}
            onFocusOut={(event) =>
              setFocused(event.currentTarget.contains(event.relatedTarget as Node | null))
            }
            onKeyDown={walk}
          >
            {rows.map((row) => (
              <BucketRow key={row.bucket.key} row={row} isAdmin={isAdmin} />
            ))}
          </tbody>
        </table>
        {rows.length === 0 && <EmptyTable query={query} isKnown={isCurrent} />}
      </div>
      {isCurrent && <Pager query={query} page={latest.page} />}
    </section>
  )
}

/** The arrow keys move between rows. */
function walk(event: TargetedKeyboardEvent<HTMLTableSectionElement>): void {
  const links = [...event.currentTarget.querySelectorAll<HTMLAnchorElement>('.row-link')]
  const own = (event.target as Element).closest('tr')?.querySelector<HTMLAnchorElement>('.row-link')
  if (own == null) return
  const at = links.indexOf(own)
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 }[event.key]
  const link = to === undefined ? undefined : links[to]
  if (link === undefined) return
  event.preventDefault()
  link.focus()
}
