import { flag } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'

const script = defineScript('resign', import.meta.url, flag)

/** The scheduler claims no more, and waits for no marker: another may be elected at once. */
export function resignVerb(store: Store) {
  return async (shard: number, scheduler: string): Promise<void> => {
    await store.run(script, shard, [scheduler])
  }
}
