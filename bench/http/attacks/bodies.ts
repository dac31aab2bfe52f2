import { setTimeout as pass } from 'node:timers/promises'
import type { Target } from './attack.ts'

/** Posts a batch as often as the answers and a pause of `pauseMs` allow, on `clients` connections. */
export async function postBatches(
  { url, token }: Target,
  body: string,
  { clients, pauseMs }: { readonly clients: number; readonly pauseMs: number },
): Promise<void> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const client = async () => {
    for (;;) {
      const response = await fetch(`${url}/v1/jobs`, { method: 'POST', headers, body }).catch(() => undefined)
      await response?.text().catch(() => undefined)
      await pass(pauseMs)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
}
