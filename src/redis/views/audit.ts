import type { Audit } from '../../conformance/history.ts'
import { list, number, row, text } from '../scripts/reply.ts'
import { defineScript } from '../scripts/script.ts'
import type { Store } from '../scripts/store.ts'

const auditScript = defineScript(
  'audit',
  import.meta.url,
  list(
    row({
      cursor: text,
      admitted: number,
      ended: number,
      waiting: number,
      handed: number,
      running: number,
      retrying: number,
    }),
  ),
)

/** Exact for a shard whose buckets fit on one page, about 200; else a count while the line moves. */
export async function audit(store: Store): Promise<Audit> {
  const sum = { admitted: 0, waiting: 0, handed: 0, running: 0, retrying: 0, ended: 0 }
  for (const shard of store.tags.keys()) {
    let cursor = '0'
    do {
      const page = await store.read(auditScript, shard, [cursor])
      // These two are of the whole shard, on each page.
      if (cursor === '0') sum.admitted += page.admitted
      if (cursor === '0') sum.ended += page.ended
      sum.waiting += page.waiting
      sum.handed += page.handed
      sum.running += page.running
      sum.retrying += page.retrying
      cursor = page.cursor
    } while (cursor !== '0')
  }
  return sum
}
