import { setTimeout as sleep } from 'node:timers/promises'
import { Intake } from '../../meter/intake.ts'
import { loadMeter, type MeterProductName } from '../../products/meter/index.ts'
import type { Ask } from '../../products/meter/product.ts'
import { cell, decimals, medianOf } from '../../report/figures.ts'
import type { Result, Scenario } from '../scenario.ts'

const PACE = { count: 20, periodMs: 1_000 }
const ASKERS = 16
const SECONDS = 10
/** How long before the end of a window, and after it, somebody takes all that he gets. */
const NEAR_MS = 25
const TENTH_MS = 100

const PRODUCTS = ['rope-on-redis', 'flexible-on-redis', 'rope-on-postgres', 'flexible-on-postgres'] as const
const one = decimals(1)
const two = decimals(2)

/** The same on stores whose time is their own, which nobody can fake: some seconds of real time. */
export const meterSharedAccuracy: Scenario<MeterProductName> = {
  name: 'meter-shared-accuracy',
  timeLimitMs: 120_000,
  mostRounds: 3,

  trials: (isQuick) =>
    PRODUCTS.map((product) => ({ product, pace: PACE, keys: 1, jobs: (isQuick ? 3 : SECONDS) * PACE.count })),

  async measure({ product, pace, jobs }, address) {
    const ask = await (await loadMeter(product)).open({ address, pace })
    const forMs = (jobs / pace.count) * pace.periodMs
    await ask('warm-up', 1)
    const restless = await neverPause(ask, forMs)
    const edges = await atTheEdges(ask, forMs)
    const fractions = await inFractions(ask)
    return {
      figures: {
        share: restless.intake.total / restless.bound,
        inTenth: Math.max(restless.intake.mostWithin(TENTH_MS), edges.mostWithin(TENTH_MS)),
        inSecond: Math.max(restless.intake.mostWithin(1_000), edges.mostWithin(1_000)),
        ...(fractions !== undefined && { fractions }),
      },
    }
  },

  tables: (results) => [
    {
      title: `Meters on Redis and PostgreSQL: units let in, ${PACE.count} per second`,
      columns: [
        'product',
        'configured as',
        'store',
        'of what was due',
        'worst tenth of a second',
        'worst second',
        'the same by 0.3, one asker',
      ],
      rows: results.map((result) => [
        result.name,
        result.setting,
        result.trial.product.endsWith('redis') ? 'Redis' : 'PostgreSQL',
        cell(result, 'share', two),
        cell(result, 'inTenth', one),
        cell(result, 'inSecond', one),
        fractionsOf(result),
      ]),
      notes: [
        'Some seconds of real time for each client, since nobody can fake the time of a server; so jitter counts as ' +
          'well: a unit is let in when its answer arrives.',
        `Of what was due: ${ASKERS} askers who never pause, against what a bucket of ${PACE.count} holds and leaks meanwhile.`,
        `Worst windows: these, and a client that opens a window with one, asks for all ${NEAR_MS} ms before it ends, and ` +
          'again after.',
        'A bucket lets in what it holds, and then its rate; a fixed window twice its count around its edge. ' +
          'rate-limiter-flexible takes no fractions here.',
      ],
    },
  ],
}

/** Those that fail are known by the figures that they have. */
function fractionsOf(result: Result): string {
  return result.samples.length > 0 && medianOf(result, 'fractions') === undefined
    ? 'an error'
    : cell(result, 'fractions', two)
}

/** All askers at once, for so long. The bound is what a bucket holds and what leaks until the last of them is in. */
async function neverPause(ask: Ask, forMs: number): Promise<{ intake: Intake; bound: number }> {
  const intake = new Intake()
  const from = performance.now()
  const asker = async () => {
    while (performance.now() - from < forMs) await take(ask, 'restless', intake)
  }
  await Promise.all(Array.from({ length: ASKERS }, asker))
  return { intake, bound: dueSince(from) }
}

/** Opens a window with one, takes the rest shortly before it ends, and as much of the next one as it gets. */
async function atTheEdges(ask: Ask, forMs: number): Promise<Intake> {
  const intake = new Intake()
  const from = performance.now()
  while (performance.now() - from < forMs) {
    await take(ask, 'edges', intake)
    await sleep(PACE.periodMs - NEAR_MS)
    await takeAll(ask, intake)
    await sleep(2 * NEAR_MS)
    await takeAll(ask, intake)
    await sleep(PACE.periodMs + NEAR_MS)
  }
  return intake
}

function takeAll(ask: Ask, intake: Intake): Promise<unknown> {
  return Promise.all(Array.from({ length: PACE.count }, () => take(ask, 'edges', intake)))
}

async function take(ask: Ask, key: string, intake: Intake): Promise<void> {
  if ((await ask(key, 1)) === 0) intake.add(performance.now(), 1)
}

/** The share of what was due, until the first refusal. Undefined: it takes no fractions. */
async function inFractions(ask: Ask): Promise<number | undefined> {
  const from = performance.now()
  try {
    let total = 0
    while ((await ask('fractions', 0.3)) === 0) total += 0.3
    return total / dueSince(from)
  } catch {
    return undefined
  }
}

/** What a bucket holds, and what has leaked from it since. */
function dueSince(from: number): number {
  return PACE.count + (PACE.count * (performance.now() - from)) / PACE.periodMs
}
