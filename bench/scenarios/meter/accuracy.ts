import {
  atTheEdges,
  type Client,
  ENOUGH,
  inLargeParts,
  type Meeting,
  type Outcome,
  patient,
  restless,
} from '../../meter/clients.ts'
import { VirtualTime } from '../../meter/virtual-time.ts'
import { loadMeter, type MeterProductName } from '../../products/meter/index.ts'
import type { Pace } from '../../products/product.ts'
import { cell, decimals } from '../../report/figures.ts'
import type { Table } from '../../report/table.ts'
import type { Result, Scenario, Trial } from '../scenario.ts'

const HOUR_MS = 3_600_000
const SECOND_MS = 1_000
const MINUTE_MS = 60_000

type Choice = readonly [MeterProductName, Pace]

/** The limit as one writes it down, and then so that no window of the period holds more than the limit. */
const LIMITS: Readonly<Record<string, readonly Choice[]>> = {
  '100 per minute': choices(100, MINUTE_MS, { capacity: 10, count: 90, periodMs: MINUTE_MS }),
  '10 per second': choices(10, SECOND_MS, { capacity: 1, count: 9, periodMs: SECOND_MS }),
}

/** In the order of their columns. */
const TOTALS = {
  patient: 'comes when told',
  restless: 'never pauses',
  edges: 'at the edges',
  parts: '60 %, 60 %, 40 %',
} as const

const whole = decimals(0)
const one = decimals(1)

/** How much does a meter let in during an hour, and how much at once, whoever asks? */
export const meterAccuracy: Scenario<MeterProductName> = {
  name: 'meter-accuracy',
  timeLimitMs: 300_000,
  mostRounds: 1,

  trials(isQuick) {
    const jobs = isQuick ? 360_000 : 3_600_000
    return Object.values(LIMITS).flatMap((limit) =>
      limit.map(([product, pace]) => ({ product, pace, keys: 1, jobs })),
    )
  },

  async measure({ product, pace, jobs }) {
    const outcomes: Partial<Record<keyof typeof TOTALS, Outcome>> = {
      patient: await meet(product, pace, patient(1)),
      restless: await meet(product, pace, restless(HOUR_MS / jobs)),
      edges: await meet(product, pace, atTheEdges),
      ...(isNarrow(pace) ? {} : { parts: await meet(product, pace, inLargeParts) }),
    }
    const all = Object.values(outcomes)
    const fractions = await meet(product, pace, patient(0.3))
    const most = (length: number) => Math.max(...all.map(({ intake }) => intake.mostWithin(length)))
    return {
      figures: {
        ...Object.fromEntries(Object.entries(outcomes).map(([name, { intake }]) => [name, intake.total])),
        fractions: fractions.intake.total,
        inSecond: most(SECOND_MS),
        inMinute: most(MINUTE_MS),
        toldWrong: [...all, fractions].reduce((total, { refusedThoughTold }) => total + refusedThoughTold, 0),
      },
    }
  },

  tables: (results) =>
    Object.entries(LIMITS).map(([limit, chosen]) =>
      table(
        limit,
        results.filter(({ trial }) => chosen.some(([, pace]) => isSame(pace, trial))),
      ),
    ),
}

/** A fresh product for each client, in an hour of its own. */
async function meet(name: MeterProductName, pace: Pace, client: Client): Promise<Outcome> {
  const time = new VirtualTime()
  time.rule()
  const product = await loadMeter(name)
  const ask = await product.open({ address: '', pace, clock: time })
  const meeting: Meeting = { ask, pace, time, forMs: HOUR_MS }
  return client(meeting)
}

/** Two thirds of a limit are more than it holds at once. */
function isNarrow({ count, capacity = count }: Pace): boolean {
  return capacity < count
}

function table(limit: string, results: readonly Result[]): Table {
  const [first] = results
  const { count, periodMs } = first!.trial.pace
  const full = count + (count * HOUR_MS) / periodMs
  return {
    title: `Meters in memory: units let in during an hour, ${limit}`,
    columns: [
      'product',
      'configured as',
      ...Object.values(TOTALS),
      'worst second',
      'worst minute',
      'by 0.3, when told',
      'refused though told',
    ],
    rows: results.map((result) => [
      result.name,
      result.setting,
      ...Object.keys(TOTALS).map((figure) => cell(result, figure, whole)),
      cell(result, 'inSecond', whole),
      cell(result, 'inMinute', whole),
      cell(result, 'fractions', (value) =>
        value < ENOUGH * result.trial.pace.count ? one(value) : 'without end',
      ),
      cell(result, 'toldWrong', whole),
    ]),
    notes: [
      `A bucket of ${whole(count)} that leaks ${limit} takes in ${whole(full)} in an hour at most: what it holds, and what leaks; ` +
        'and any window as much as it holds and what leaks in it. So does a token bucket. A fixed window lets in twice ' +
        'its count around its edge, all at once.',
      'The last three rows are set so that no window of the period holds more than the limit. A fixed window must be ' +
        'halved for that.',
      'Virtual time: velvet-rope through its option `clock`, the others by replacing `Date.now`, `performance.now` and ' +
        '`setTimeout` in a process of their own.',
      'Comes when told: one at a time, and after a refusal exactly when the product said. Never pauses: asks all the ' +
        'time. At the edges: opens a window with one, takes all in its last millisecond, and what it gets in the next ' +
        'one. 60 %, 60 %, 40 %: of the limit, together, once a period; only the second does not fit.',
      'rate-limiter-flexible counts what it refuses, too, and of 0.3 counts nothing: its counts are whole numbers, cut.',
    ],
  }
}

function choices(count: number, periodMs: number, narrow: Pace): readonly Choice[] {
  const products = ['rope-in-memory', 'flexible-in-memory', 'limiter-in-memory'] as const
  const plain = products.map((product): Choice => [product, { count, periodMs }])
  return [
    ...plain,
    ['rope-in-memory', narrow],
    ['flexible-in-memory', { count: count / 2, periodMs }],
    ['limiter-in-memory', narrow],
  ]
}

function isSame(one: Pace, { pace: other }: Trial): boolean {
  return one.count === other.count && one.periodMs === other.periodMs && one.capacity === other.capacity
}
