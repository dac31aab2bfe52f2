import { feed, keysNamed, openStage } from '../burst.ts'
import { loadProduct, PEERS, ROPE } from '../products/index.ts'
import { cell, decimals, medianOf, ropeOf, verdict } from '../report/figures.ts'
import type { Result, Scenario } from './scenario.ts'

const SIZES = [1, 1_000, 100_000]
/** A rate that no machine reaches, so that the machine is what is measured. */
const UNLIMITED = { count: 1_000_000_000, periodMs: 1_000 }
const FULL_JOBS = 200_000
const SECONDS_ALLOWED = 12
/** By number of keys. It waits for a timer or two per job, one job after the other in each line. */
const BOTTLENECK_JOBS: Readonly<Record<number, number>> = { 1: 1_000, 1000: 20_000 }

const whole = decimals(0)
const two = decimals(2)

/** How many jobs a second get in and out again, on one thread, when the rate is out of reach? */
export const throughput: Scenario = {
  name: 'throughput',
  timeLimitMs: SECONDS_ALLOWED * 1_000,

  trials(isQuick) {
    const full = isQuick ? 20_000 : FULL_JOBS
    const sizes = isQuick ? SIZES.slice(0, 2) : SIZES
    return sizes.flatMap((keys) =>
      ([ROPE, ...PEERS, 'bare-arrays'] as const).map((product) => {
        const jobs = product === 'bottleneck' ? Math.min(full, BOTTLENECK_JOBS[keys] ?? full) : full
        return { product, pace: UNLIMITED, keys, jobs }
      }),
    )
  },

  async measure({ product: name, pace, keys, jobs }) {
    const product = await loadProduct(name)
    const warmUp = openStage(product, pace)
    await feed(warmUp.enqueue, keysNamed('warm-up', 1_000), jobs / 10)
    await warmUp.started(jobs / 10)
    const names = keysNamed('key', keys)
    const stage = openStage(product, pace)
    gc?.()
    const cpu = process.cpuUsage()
    const from = performance.now()
    await feed(stage.enqueue, names, jobs)
    await stage.started(jobs)
    const seconds = (performance.now() - from) / 1_000
    const { user, system } = process.cpuUsage(cpu)
    return {
      figures: {
        jobs: jobs / seconds,
        operations: (2 * jobs) / seconds,
        cores: (user + system) / 1e6 / seconds,
      },
    }
  },

  tables(results) {
    const largest = ropeOf(results, SIZES.at(-1))
    return [
      {
        title: 'Throughput: admissions + departures per second, no rate in the way',
        columns: [
          'product',
          'configured as',
          ...sizesOf(results).map(nameSize),
          'jobs/s, most keys',
          'cores busy',
        ],
        rows: byProduct(results).map((row) => [
          row[0]!.name,
          row[0]!.setting,
          ...row.map((result) => cell(result, 'operations', whole, ropeOf(results, result.trial.keys))),
          cell(row.at(-1), 'jobs', whole),
          cell(row.at(-1), 'cores', two),
        ]),
        notes: [
          verdict(
            'operations/s with 100,000 keys',
            medianOf(largest, 'operations'),
            { least: 300_000 },
            whole,
          ),
          'An admission is one operation and a departure (the handler starts) is another; jobs/s is half of the sum.',
          'At this rate nothing has to wait: p-throttle, p-queue, limiter and rate-limiter-flexible let a job start ' +
            'at once; velvet-rope passes each one through its bounded line.',
          'Bottleneck gets fewer jobs: it waits for a timer or two for each, one after the other in each line.',
          `"over ${SECONDS_ALLOWED} s": given up, which is less than ${whole((2 * FULL_JOBS) / SECONDS_ALLOWED)} operations/s.`,
        ],
      },
    ]
  },
}

/** The numbers of keys that were measured. */
export function sizesOf(results: readonly Result[]): number[] {
  return [...new Set(results.map(({ trial }) => trial.keys))]
}

export function nameSize(keys: number): string {
  return `${whole(keys)} ${keys === 1 ? 'key' : 'keys'}`
}

/** One row per product, its sizes in order. */
export function byProduct(results: readonly Result[]): Result[][] {
  const rows = new Map<string, Result[]>()
  for (const result of results) {
    const row = rows.get(result.trial.product)
    if (row === undefined) rows.set(result.trial.product, [result])
    else row.push(result)
  }
  return [...rows.values()]
}
