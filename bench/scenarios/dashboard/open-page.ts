import { setTimeout as sleep } from 'node:timers/promises'
import { framesOf, openBrowser } from '../../dashboard/frames.ts'
import { startHouse, startTraffic } from '../../dashboard/processes.ts'
import { cell, decimals, medianOf, verdict } from '../../report/figures.ts'
import { quantile } from '../../statistics.ts'
import type { Scenario } from '../scenario.ts'

const ALONE_MS = 10_000
const SETTLE_MS = 5_000
const LOOKED_FOR_MS = 20_000
const LEAST_FRAMES = 30
const LONGEST_DELAY_MS = 20

export type PageProductName = 'memory' | 'redis'

const one = decimals(1)
const whole = decimals(0)

/** A page that is open while many buckets change: what the browser can draw, and how the process keeps up that serves it. */
export const openPage: Scenario<PageProductName> = {
  name: 'dashboard',
  timeLimitMs: 300_000,
  mostRounds: 3,

  trials(isQuick) {
    const keys = isQuick ? 2_000 : 10_000
    const pace = { count: 1, periodMs: 20_000 }
    return (['memory', 'redis'] as const).map((product) => ({ product, pace, keys, jobs: keys }))
  },

  async measure({ product, keys }, socket) {
    const order = { socket: product === 'redis' ? socket : '', keys }
    if (product === 'redis') await startTraffic(order)
    const house = await startHouse(order)
    await sleep(SETTLE_MS)
    await house.loopDelay()
    await sleep(ALONE_MS)
    const alone = await house.loopDelay()
    const browser = await openBrowser()
    await house.loopDelay()
    const { gaps, rows } = await framesOf(browser, house.url, SETTLE_MS, LOOKED_FOR_MS)
    const open = await house.loopDelay()
    await browser.close()
    const figures = {
      rows,
      framesPerSecond: (1_000 * gaps.length) / gaps.reduce((sum, gap) => sum + gap, 0),
      frameP99: quantile(gaps, 0.99),
      aloneP99: alone.p99,
      openP99: open.p99,
      openMax: open.max,
    }
    return { figures }
  },

  tables(results) {
    const median = (index: number, name: string) => medianOf(results[index], name)
    const shown = results.map((_, index) => index)
    return [
      {
        title: `Dashboard: the overview open while ${whole(results[0]!.trial.keys)} live buckets change`,
        columns: [
          'lines in',
          'rows shown',
          'frames per second',
          'frame p99, ms',
          'loop delay p99 without a page, ms',
          'with the page, ms',
          'longest, ms',
        ],
        rows: results.map((result) => [
          result.trial.product,
          cell(result, 'rows', whole),
          cell(result, 'framesPerSecond', one),
          cell(result, 'frameP99', one),
          cell(result, 'aloneP99', one),
          cell(result, 'openP99', one),
          cell(result, 'openMax', one),
        ]),
        notes: [
          ...shown.map((index) =>
            verdict(
              `frames per second, lines in ${results[index]!.trial.product}`,
              median(index, 'framesPerSecond'),
              { least: LEAST_FRAMES },
              one,
            ),
          ),
          ...shown.map((index) =>
            verdict(
              `p99 of the loop delay with the page open, ms, lines in ${results[index]!.trial.product}`,
              median(index, 'openP99'),
              { most: LONGEST_DELAY_MS },
              one,
            ),
          ),
          'In memory the process that serves the page also enqueues and departs; with Redis another one does.',
          'Each bucket departs once in 20 s, so 500 arrive and 500 depart each second, in bursts of 0 to 100 at once.',
        ],
      },
    ]
  },
}
