import { list, number, oneOf, text } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import { operationName, type Store } from '../scripts/store.ts'
import type { RemovedJob } from './handed-job.ts'

const reply = list(oneOf({ ok: { at: number, key: text, cost: number, attempt: number }, none: {} }))
const script = defineScript('cancel', import.meta.url, reply)

/** waiting | retrying | handed and not granted -> cancelled; undefined when it is unknown or has departed. */
export function cancelVerb(store: Store, keep: string) {
  return (id: string, now?: number, key?: string) => takeOut(store, keep, { id, key, isCaller: '0' }, now)
}

/** The same for the caller of a turn, who will not take it: also with a slot. */
export function leaveVerb(store: Store, keep: string) {
  return (id: string, now?: number) => takeOut(store, keep, { id, isCaller: '1' }, now)
}

interface Taken {
  readonly id: string
  readonly key?: string | undefined
  readonly isCaller: '0' | '1'
}

/** Asks all shards where no key says which it is in. */
function takeOut(
  store: Store,
  keep: string,
  { id, key: ofKey = '', isCaller }: Taken,
  now?: number,
): Promise<RemovedJob | undefined> {
  // By which the same request is recognized again.
  const operation = operationName()
  const ask = async (shard: number): Promise<RemovedJob | undefined> => {
    const found = await store.write(script, shard, [operation, keep, id, isCaller, ofKey], now)
    if (found.kind === 'none') return undefined
    const { at, key, cost, attempt } = found
    return { id, at, key, cost, attempt }
  }
  return ofKey === '' ? store.firstFound(ask) : ask(store.shardOf(ofKey))
}
