import { list, oneOf, rest, text } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import { type HandedJob, jobValues } from './handed-job.ts'

const reply = list(rest(oneOf({ yes: { data: text }, stale: {}, foreign: {} })))
const script = defineScript('fetch', import.meta.url, reply)

export type FetchAnswer =
  /** JSON text. */
  | { readonly kind: 'yes'; readonly data: string }
  /** Not this worker's, or not any more; or not readable, as of the gate. */
  | { readonly kind: 'stale' }
  | { readonly kind: 'foreign' }

/** The data of jobs that are handed over, for a worker that learned from the gate how large they are. */
export function fetchVerb(store: Store) {
  return (shard: number, jobs: readonly HandedJob[]): Promise<FetchAnswer[]> =>
    store.run(script, shard, jobValues(jobs))
}
