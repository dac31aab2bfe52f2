import { readPageUrl, type TableQuery, type View, writePageUrl } from './page-url.ts'
import { Store } from './store.ts'

/** What the page shows, as its URL says. */
export const route = new Store<View>(readPageUrl(location.search))

/** Where the table was left, so that the way back from a bucket leads there. */
let lastTable: TableQuery | undefined

addEventListener('popstate', () => show(readPageUrl(location.search)))

/** Goes to a view; `replace` where going back to the one before would make no sense. */
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
