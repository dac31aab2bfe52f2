import { keysNamed } from '../../burst.ts'
import { countOf, postJobs } from '../../http/load.ts'
import { HTTP_PRODUCTS, type HttpProductName, loadHttpProduct } from '../../products/http/index.ts'
import { cell, decimals, medianOf } from '../../report/figures.ts'
import type { Result, Scenario } from '../scenario.ts'

/** Nothing departs: nobody forwards, and the next slot is an hour away. */
const PACE = { count: 1, periodMs: 3_600_000 }
const KEYS = 1_000
const CONNECTIONS = 32

const whole = decimals(0)
const two = decimals(2)

/** How many jobs a second does the HTTP API let in, and how long does the slowest hundredth wait for the answer? */
export const httpEnqueue: Scenario<HttpProductName> = {
  name: 'http-enqueue',
  timeLimitMs: 60_000,

  trials(isQuick) {
    // Seconds of load.
    const jobs = isQuick ? 2 : 6
    return HTTP_PRODUCTS.map((product) => ({ product, pace: PACE, keys: KEYS, jobs }))
  },

  async measure({ product, pace, keys: count, jobs: seconds }, socket) {
    const keys = keysNamed('key', count)
    const url = await (await loadHttpProduct(product)).serve({ socket, pace })
    await postJobs(url, keys, { connections: CONNECTIONS, seconds: 3 })
    const result = await postJobs(url, keys, { connections: CONNECTIONS, seconds })
    const { requests, latency } = result
    const others = requests.total - countOf(result, 202)
    return { figures: { rate: requests.average, p50: latency.p50, p99: latency.p99, others } }
  },

  tables(results) {
    const of = (product: HttpProductName) => results.find(({ trial }) => trial.product === product)
    const bare = of('bare-hono')
    return [
      {
        title: `HTTP, enqueue: requests per second that ${CONNECTIONS} connections get an answer for, ${whole(KEYS)} keys`,
        columns: ['product', 'configured as', 'requests/s', 'p50', 'p99', 'not 202'],
        rows: results.map((result) => [
          result.name,
          result.setting,
          cell(result, 'rate', whole, bare),
          cell(result, 'p50', milliseconds),
          cell(result, 'p99', milliseconds),
          cell(result, 'others', whole),
        ]),
        notes: [
          `In memory: ${ratio(of('rope-in-memory'), bare)} of bare Hono, ${ratio(of('rope-in-memory'), of('hono-bullmq'))} of Hono and BullMQ.`,
          `On Redis: ${ratio(of('rope-on-redis'), bare)} of bare Hono, ${ratio(of('rope-on-redis'), of('hono-bullmq'))} of Hono and BullMQ.`,
          'The load comes from a process of its own (autocannon), the server is another, Redis a third, on two cores. ' +
            'In brackets: as a multiple of bare Hono.',
          'Ours also checks access, host and overload, answers with the times, `Location` and `RateLimit` fields, and counts metrics.',
        ],
      },
    ]
  },
}

function ratio(one: Result | undefined, other: Result | undefined): string {
  const [ours, theirs] = [medianOf(one, 'rate'), medianOf(other, 'rate')]
  return ours === undefined || theirs === undefined ? 'not measured' : two(ours / theirs)
}

function milliseconds(value: number): string {
  return `${whole(value)} ms`
}
