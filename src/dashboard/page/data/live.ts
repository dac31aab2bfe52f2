import type { BucketEvent, FlowEvent, SnapshotEvent } from '../../../http/wire.ts'
import type { BucketPage } from '../../../line/bucket-query.ts'
import { serverClock } from '../clock.ts'
import { type ApiProblem, askJson, subject } from './api.ts'
import type { StreamEvent } from './event-parser.ts'
import { FlowHistory } from './flow-history.ts'
import { LiveStream, type StreamState } from './live-stream.ts'
import { type TableQuery, type View, writeTableQuery } from './page-url.ts'
import { asProblem, lock } from './session.ts'
import { Store } from './store.ts'

/** The current data, which the views render. */
export const connection = new Store<{ readonly state: StreamState; readonly problem?: ApiProblem }>({
  state: 'connecting',
})
export const snapshot = new Store<SnapshotEvent | undefined>(undefined)
/** `query` is the query that the page answers. */
export const table = new Store<{ readonly page: BucketPage; readonly query: string } | undefined>(undefined)
/** Why the query of the table failed, if it did. */
export const tableProblem = new Store<ApiProblem | undefined>(undefined)
export const bucketNews = new Store<(BucketEvent & { readonly key: string }) | undefined>(undefined)
/** Grows with every change of the rule book. */
export const ruleChanges = new Store(0)

/** How long samples are kept; the chart shows a part of that. */
export const FLOW_KEPT_MS = 5 * 60_000
export const flow = new FlowHistory(FLOW_KEPT_MS)
export const flowTicks = new Store(0)

/** The stream that a view needs. */
function streamPath(view: View): string {
  if (view.name === 'rules' || view.name === 'family') return 'v1/events?types=snapshot,flow,rules'
  if (view.name === 'bucket') return `v1/events?types=snapshot,flow,bucket,rules&key=${subject(view.key)}`
  return `v1/events?types=snapshot,flow,buckets,rules&${writeTableQuery(view.query)}`
}

/** Keeps the data of a view up to date. @returns a function that stops it */
export function watch(view: View): () => void {
  const query = view.name === 'overview' ? writeTableQuery(view.query) : ''
  const readers: Readonly<Record<string, (data: string) => void>> = {
    snapshot: (data) => takeSnapshot(JSON.parse(data) as SnapshotEvent),
    flow: (data) => takeFlow(JSON.parse(data) as FlowEvent),
    buckets: (data) => {
      tableProblem.set(undefined)
      table.set({ page: JSON.parse(data) as BucketPage, query })
    },
    bucket: (data) => takeBucket(view, JSON.parse(data) as BucketEvent),
    rules: () => ruleChanges.set(ruleChanges.get() + 1),
  }
  const stream = new LiveStream(streamPath(view), {
    event: ({ type, data }: StreamEvent) => readers[type]?.(data),
    state: (state, problem) => {
      if (problem?.status === 401) lock()
      // Each view has its own stream; the change of streams is not shown.
      if (state === 'connecting' && connection.get().state === 'live') return
      connection.set({ state, ...(problem !== undefined && { problem }) })
    },
  })
  return () => stream.stop()
}

/** Loads the table at once; the stream would take a second to send it. */
export async function lookUp(query: TableQuery, signal: AbortSignal): Promise<void> {
  const text = writeTableQuery(query)
  try {
    const page = await askJson<BucketPage>(`v1/buckets?${text}`, { signal })
    tableProblem.set(undefined)
    table.set({ page, query: text })
  } catch (error) {
    if (signal.aborted) return
    const problem = asProblem(error)
    if (problem.status === 401) lock()
    else tableProblem.set(problem)
  }
}

function takeSnapshot(taken: SnapshotEvent): void {
  serverClock.note(taken.at)
  snapshot.set(taken)
}

function takeFlow({ earlier = [], ...totals }: FlowEvent): void {
  serverClock.note(totals.at)
  const isNew = [...earlier, totals].map((each) => flow.push(each))
  if (isNew.includes(true)) flowTicks.set(flowTicks.get() + 1)
}

function takeBucket(view: View, news: BucketEvent): void {
  if (view.name !== 'bucket') return
  serverClock.note(news.at)
  bucketNews.set({ ...news, key: view.key })
}
