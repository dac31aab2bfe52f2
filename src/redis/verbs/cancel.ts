import { randomBytes } from 'node:crypto'
import { list, number, oneOf, text } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'
import type { RemovedJob } from './handed-job.ts'

const reply = list(oneOf({ ok: { at: number, key: text, cost: number, attempt: number }, none: {} }))
const script = defineScript('cancel', import.meta.url, reply)

/** waiting | retrying | handed and not granted -> cancelled; undefined when it is unknown or has departed. */
export function cancelVerb(store: Store, keepFinished: number) {
  return (id: string, now?: number) => takeOut(store, keepFinished, id, '0', now)
}

/** The same for the caller of a turn, who will not take it: also with a slot. */
export function leaveVerb(store: Store, keepFinished: number) {
  return (id: string, now?: number) => takeOut(store, keepFinished, id, '1', now)
}

/** Asks all shards, since an id does not say which it is in. */
function takeOut(
  store: Store,
  keepFinished: number,
  id: string,
  isCaller: '0' | '1',
  now?: number,
): Promise<RemovedJob | undefined> {
  // By which the same request is recognized again.
  const operation = randomBytes(12).toString('base64url')
  const ask = async (shard: number): Promise<RemovedJob | undefined> => {
    const found = await store.write(script, shard, [operation, keepFinished, id, isCaller], now)
    if (found.kind === 'none') return undefined
    const { at, key, cost, attempt } = found
    return { id, at, key, cost, attempt }
  }
  return store.firstFound(ask)
}
