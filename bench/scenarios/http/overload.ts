import { setTimeout } from 'node:timers/promises'
import { keysNamed } from '../../burst.ts'
import { countOf, postJobs } from '../../http/load.ts'
import { type HttpProductName, loadHttpProduct } from '../../products/http/index.ts'
import { cell, decimals } from '../../report/figures.ts'
import type { Scenario } from '../scenario.ts'

const PACE = { count: 1, periodMs: 3_600_000 }
const KEYS = 100
/** Requests that are on their way at once: more than can be answered. */
const CONNECTIONS = 2_000
const PIPELINING = 4
/** Of those who look for their jobs afterwards. */
const LOOKING = 16

const whole = decimals(0)

/** What happens when far more comes than can be answered: who is refused, how quickly, and is anybody lost? */
export const httpOverload: Scenario<HttpProductName> = {
  name: 'http-overload',
  timeLimitMs: 120_000,

  trials(isQuick) {
    // Seconds of load.
    const jobs = isQuick ? 2 : 6
    const products = ['rope-in-memory', 'rope-on-redis'] as const
    return products.map((product) => ({ product, pace: PACE, keys: KEYS, jobs }))
  },

  async measure({ product, pace, keys: count, jobs: seconds }, socket) {
    const url = await (await loadHttpProduct(product)).serve({ socket, pace })
    const accepted: string[] = []
    const load = {
      connections: CONNECTIONS,
      pipelining: PIPELINING,
      seconds,
      onAccepted: (id: string) => accepted.push(id),
    }
    const result = await postJobs(url, keysNamed('key', count), load)
    const busy = countOf(result, 503)
    const full = countOf(result, 429)
    const { requests, latency } = result
    const others = requests.total - countOf(result, 202) - busy - full
    const lost = await missing(url, accepted)
    return {
      figures: { accepted: accepted.length, busy, full, others, lost, p50: latency.p50, p99: latency.p99 },
    }
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
          'Lost: jobs that were answered with 202 and are not there afterwards, looked for one by one (`GET /v1/jobs/{id}`).',
          'Times are from the moment at which the client sends; with so many on their way most of it is waiting in the sockets.',
        ],
      },
    ]
  },
}

/** How many of the jobs are not there. */
async function missing(url: string, ids: readonly string[]): Promise<number> {
  let next = 0
  let lost = 0
  const look = async () => {
    while (next < ids.length) if (!(await isThere(`${url}/v1/jobs/${ids[next++]}`))) lost++
  }
  await Promise.all(Array.from({ length: LOOKING }, look))
  return lost
}

/** Whoever is overloaded has to come to rest first. */
async function isThere(url: string): Promise<boolean> {
  for (;;) {
    const { ok, status, body } = await fetch(url)
    await body?.cancel()
    if (ok || status === 404) return ok
    await setTimeout(250)
  }
}
