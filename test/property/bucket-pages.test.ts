import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import type { BucketView } from '../../src/core/bucket-view.ts'
import { SECOND } from '../../src/core/duration.ts'
import { type BucketQueryInput, SORT_COLUMNS } from '../../src/line/bucket-query.ts'
import { DRIVERS } from '../conformance/drivers.ts'
import { at, COMPLETED, type Driver, failAndRetry, request } from '../support/backend-driver.ts'
import { bruteForce, everyPage } from '../support/brute-pages.ts'

/** The last three are in another order by units of UTF-16 than by code points. */
const HEADS = [
  'a',
  'a/b',
  'a/*/c',
  'ab',
  'b',
  'A',
  "it's 100% {1}",
  '[x]?*',
  'é',
  '\u{1f600}',
  '\uffee',
  '\ue000',
]
const KEYS = HEADS.flatMap((head) => [head, `${head}/1`, `${head}/2`, `${head}!`])
const PATTERNS = ['*', 'a', 'a/*', 'a/b', '*/1', 'é']
const LIMITS = ['1, 1/s', '4, 1/s', '7, 2/s', '3, 5/s']

const key = fc.constantFrom(...KEYS)
const seconds = fc.integer({ min: 1, max: 4_000_000 })
const verb = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({ do: fc.constant('admit' as const), key, cost: fc.constantFrom(1, 1, 1, 2, 3) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('start' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('retry' as const), after: seconds }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('giveBack' as const), after: seconds }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('complete' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pause' as const), key }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('freeze' as const), key, after: seconds }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('limit' as const),
      pattern: fc.constantFrom(...PATTERNS),
      limit: fc.constantFrom(...LIMITS),
    }),
  },
)
type Verb = typeof verb extends fc.Arbitrary<infer Value> ? Value : never

/** Most queries ask for but one thing, or for none. */
const seldom = <Value>(arbitrary: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })
const share = fc.constantFrom(0.1, 0.25, 0.5, 1)
const query = fc.record({
  prefix: seldom(fc.constantFrom('a', 'a/', 'a/b', '\u{1f600}', '[x]?*/', 'unknown')),
  under: seldom(fc.constantFrom('a', 'a/b', 'ab', 'A')),
  pattern: seldom(fc.constantFrom(...PATTERNS)),
  minFill: seldom(share),
  maxFill: seldom(share),
  state: seldom(fc.constantFrom('idle', 'waiting', 'full', 'frozen', 'paused')),
  minOldestWaitMs: seldom(fc.constantFrom(0, 1, 500, 1_500)),
  sort: fc.constantFrom(...SORT_COLUMNS.flatMap((column) => [column, `-${column}` as const])),
  limit: fc.constantFrom(1, 3, 10, 100),
})

class Town {
  now = at(0)
  readonly #driver: Driver
  readonly #running: string[] = []
  #jobs = 0

  constructor(driver: Driver) {
    this.#driver = driver
  }

  async do(verb: Verb, lapse: number): Promise<void> {
    this.now += lapse
    const { now } = this
    const driver = this.#driver
    if (verb.do === 'admit') {
      await driver.admit(request(`j${this.#jobs++}`, { key: verb.key, cost: verb.cost }), now)
    } else if (verb.do === 'start') {
      const started = await driver.startNext(now)
      if (started !== undefined) this.#running.push(started.id)
    } else if (verb.do === 'pause') await driver.pause(verb.key, now)
    else if (verb.do === 'freeze') await driver.freeze(verb.key, now + verb.after, now)
    else if (verb.do === 'limit') await driver.setRule(verb.pattern, verb.limit, now)
    else await this.#finish(verb)
  }

  /** As it is, bucket by bucket. */
  async views(): Promise<BucketView[]> {
    const views = await Promise.all(KEYS.map((key) => this.#driver.inspect(key, this.now)))
    return views.filter((view) => view !== undefined)
  }

  list(query: BucketQueryInput) {
    return this.#driver.list(query, this.now)
  }

  async #finish(verb: Extract<Verb, { do: 'retry' | 'giveBack' | 'complete' }>): Promise<void> {
    const id = this.#running.shift()
    if (id === undefined) return
    const { now } = this
    if (verb.do === 'complete') await this.#driver.finish(id, COMPLETED, now)
    else if (verb.do === 'retry') await this.#driver.finish(id, failAndRetry(now + verb.after), now)
    else await this.#driver.finish(id, { kind: 'freeze', until: now + verb.after }, now)
  }
}

const steps = fc.array(fc.tuple(verb, fc.nat(SECOND)), { minLength: 30, maxLength: 90 })

test.each(DRIVERS)('%s: pages are what filtering and sorting all views would give', async (_, open) => {
  await fc.assert(
    fc.asyncProperty(steps, fc.array(query, { minLength: 12, maxLength: 12 }), async (steps, queries) => {
      const driver = await open({ '*': '4, 1/s', 'a/*': '5, 3/s' })
      onTestFinished(() => driver.close())
      const town = new Town(driver)
      for (const [verb, lapse] of steps) await town.do(verb, lapse)
      const views = await town.views()
      for (const asked of queries) {
        const expected = bruteForce(views, asked)
        const { views: found, pages } = await everyPage((query) => town.list(query), asked)
        expect(found, JSON.stringify(asked)).toEqual(expected)
        for (const page of pages) {
          expect([page.total, page.isAtLeast], JSON.stringify(asked)).toEqual([expected.length, undefined])
          expect(page.buckets.length).toBeLessThanOrEqual(asked.limit)
        }
      }
    }),
    { numRuns: 40 },
  )
})

test.each(DRIVERS)(
  '%s: a bucket that does not change is on one page, whatever the others do',
  async (_, open) => {
    const still = (view: BucketView) => view.key.startsWith('a')
    await fc.assert(
      fc.asyncProperty(steps, fc.array(query, { minLength: 4, maxLength: 4 }), async (steps, queries) => {
        const driver = await open({ '*': '4, 1/s' })
        onTestFinished(() => driver.close())
        const town = new Town(driver)
        for (const [verb] of steps.filter(([{ do: what }]) => what !== 'start')) await town.do(verb, 0)
        for (const { state: _state, minOldestWaitMs: _wait, ...asked } of queries) {
          const before = bruteForce(await town.views(), asked).filter(still)
          let turn = 0
          const { views: found } = await everyPage(
            (query) => town.list(query),
            { ...asked, limit: 3 },
            async () => {
              for (const key of KEYS.filter((key) => !key.startsWith('a') && key.length % 3 === turn % 3)) {
                await town.do({ do: 'admit', key, cost: 1 }, 1_000)
                if (turn % 4 === 1) await town.do({ do: 'pause', key }, 1_000)
              }
              turn++
            },
          )
          const keys = found.filter(still).map(({ key }) => key)
          expect(keys.sort(), JSON.stringify(asked)).toEqual(before.map(({ key }) => key).sort())
        }
      }),
      { numRuns: 20 },
    )
  },
)
