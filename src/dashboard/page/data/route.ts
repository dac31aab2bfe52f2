import { readPageUrl, type TableQuery, type View, writePageUrl } from './page-url.ts'
import { Store } from './store.ts'

/** The view that the URL describes. */
export const route = new Store<View>(readPageUrl(location.search))

/** The last query of the table, for the link back from a bucket. */
let lastTable: TableQuery | undefined

addEventListener('popstate', () => show(readPageUrl(location.search)))

/** Goes to a view; `replace` leaves no history entry for the current one. */
export function go(view: View, how: 'push' | 'replace' = 'push'): void {
  const url = `${location.pathname}${writePageUrl(view)}`
  if (how === 'push') history.pushState(null, '', url)
  else history.replaceState(null, '', url)
  show(view)
}

export function tableView(): View {
  return { name: 'overview', query: lastTable ?? { sort: '-fill' } }
}

function show(view: View): void {
  if (view.name === 'overview') lastTable = view.query
  route.set(view)
}

show(route.get())
