import { setTimeout } from 'node:timers/promises'
import { keysNamed } from '../../burst.ts'
import { countOf, postJobs } from '../../http/load.ts'
import { type HttpProductName, loadHttpProduct } from '../../products/http/index.ts'
import { cell, decimals } from '../../report/figures.ts'
import type { Scenario } from '../scenario.ts'

const PACE = { count: 1, periodMs: 3_600_000 }
const KEYS = 100
/** Requests that are on their way at once: more than the service lets in. */
const CONNECTIONS = 2_000
const PIPELINING = 4

const whole = decimals(0)

/** What happens when far more comes than can be answered: who is refused, how quickly, and is anybody lost? */
export const httpOverload: Scenario<HttpProductName> = {
  name: 'http-overload',
  timeLimitMs: 60_000,

  trials(isQuick) {
    // Seconds of load.
    const jobs = isQuick ? 2 : 6
    const products = ['rope-in-memory', 'rope-on-redis'] as const
    return products.map((product) => ({ product, pace: PACE, keys: KEYS, jobs }))
  },

  async measure({ product, pace, keys: count, jobs: seconds }, socket) {
    const url = await (await loadHttpProduct(product)).serve({ socket, pace })
    const load = { connections: CONNECTIONS, pipelining: PIPELINING, seconds }
    const result = await postJobs(url, keysNamed('key', count), load)
    const accepted = countOf(result, 202)
    const busy = countOf(result, 503)
    const full = countOf(result, 429)
    const { requests, latency } = result
    const others = requests.total - accepted - busy - full
    // Answers of the last moment reach nobody; so there may be more jobs than answers, never fewer.
    const lost = Math.max(0, accepted - (await waitingAt(url)))
    return { figures: { accepted, busy, full, others, lost, p50: latency.p50, p99: latency.p99 } }
  },

  tables(results) {
    return [
      {
        title: `HTTP, overload: ${whole(CONNECTIONS * PIPELINING)} requests on their way at once`,
        columns: [
          'product',
          'configured as',
          '202',
          '503',
          '429',
          'anything else',
          'p50',
          'p99',
          'accepted and lost',
        ],
        rows: results.map((result) => [
          result.name,
          result.setting,
          ...['accepted', 'busy', 'full', 'others'].map((figure) => cell(result, figure, whole)),
          cell(result, 'p50', (value) => `${whole(value)} ms`),
          cell(result, 'p99', (value) => `${whole(value)} ms`),
          cell(result, 'lost', whole),
        ]),
        notes: [
          'Lost: answers 202 less the jobs that are there afterwards (`GET /v1/buckets`, all pages).',
          'Times are from the moment at which the client sends; with so many on their way most of it is waiting in the sockets.',
        ],
      },
    ]
  },
}

async function waitingAt(url: string): Promise<number> {
  let waiting = 0
  let cursor: string | undefined
  do {
    const query = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page = await pageAt(`${url}/v1/buckets?limit=100${query}`)
    for (const bucket of page.buckets) waiting += bucket.waiting
    cursor = page.cursor
  } while (cursor !== undefined)
  return waiting
}

interface Page {
  readonly buckets: readonly { readonly waiting: number }[]
  readonly cursor?: string
}

/** Whoever is overloaded has to come to rest first. */
async function pageAt(url: string): Promise<Page> {
  for (;;) {
    const response = await fetch(url)
    if (response.ok) return (await response.json()) as Page
    await response.body?.cancel()
    await setTimeout(250)
  }
}
