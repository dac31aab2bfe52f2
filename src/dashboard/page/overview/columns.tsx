import { type TableQuery, turnedSort } from '../data/page-url.ts'
import { go } from '../data/route.ts'
import { Icon } from '../parts/icon.tsx'

/** The columns of the table. Where there is little room, those with the highest `rank` are hidden first. */
export const COLUMNS = [
  { field: 'key', name: 'Bucket', isText: true, rank: 0 },
  { field: 'fill', name: 'Line', isText: false, rank: 0 },
  { field: 'state', name: 'State', isText: true, rank: 0 },
  { field: 'nextDepartureAt', name: 'Next', isText: true, rank: 0 },
  { field: 'oldestWaitMs', name: 'Oldest', isText: false, rank: 2 },
  { field: 'running', name: 'Running', isText: false, rank: 3 },
  { field: 'retrying', name: 'Retrying', isText: false, rank: 3 },
  { field: 'pattern', name: 'Limit', isText: true, rank: 2 },
  { field: 'lastUsedAt', name: 'Last used', isText: false, rank: 4 },
] as const

export type ColumnField = (typeof COLUMNS)[number]['field']

/** The headers of the columns; each sorts the table. */
export function TableHead({ query }: { readonly query: TableQuery }) {
  return (
    <thead>
      <tr>
        {COLUMNS.map(({ field, name, isText, rank }) => (
          <th
            key={field}
            scope="col"
            class={`col-${field} rank-${rank}`}
            aria-sort={
              query.sort === field ? 'ascending' : query.sort === `-${field}` ? 'descending' : undefined
            }
          >
            <button
              type="button"
              class="sorter"
              onClick={() => {
                const { cursor, ...kept } = query
                go({ name: 'overview', query: { ...kept, sort: turnedSort(query.sort, field, isText) } })
              }}
            >
              {name}
              <Icon name={query.sort === field ? 'up' : 'down'} />
            </button>
          </th>
        ))}
        <th scope="col" class="col-menu">
          <span class="sr-only">Actions</span>
        </th>
      </tr>
    </thead>
  )
}
