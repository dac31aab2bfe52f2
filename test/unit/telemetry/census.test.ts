import { expect, test } from 'vitest'
import type { BucketView } from '../../../src/core/bucket-view.ts'
import type { FamilyView } from '../../../src/core/family-view.ts'
import type { HoldReason } from '../../../src/core/hold.ts'
import { Census } from '../../../src/telemetry/census.ts'

const MINUTE = 60_000_000
const NONE_HELD = { pace: 0, quota: 0, places: 0 }

function bucket(of: Partial<BucketView>): BucketView {
  const idle = { state: 'idle', waiting: 0, capacity: 10, fill: 0, oldestWaitMs: 0, paused: false } as const
  const rest = { limit: '10, 1/s', jobs: 0, retrying: 0, running: 0, durability: 'memory' } as const
  return { key: 'k', pattern: '*', ...idle, ...rest, ...of }
}

/** A store whose pages come when they are sent, and a clock that the test moves. */
class FakeSurvey {
  now = 0
  /** Milliseconds that the walk has rested, page by page. */
  readonly rests: number[] = []
  /** Walks that were begun. */
  walks = 0
  /** How long a page takes; microseconds. */
  pageTakes = 0
  #pages: (readonly BucketView[])[] = []
  families: readonly FamilyView[] = []
  #error: Error | undefined
  #isStuck = false
  readonly census = new Census({
    survey: () => this.#survey(),
    surveyFamilies: () => this.#surveyFamilies(),
    labels: { ofBuckets: (pattern) => pattern, ofTotals: (pattern) => `total ${pattern}` },
    pause: (ms) => this.#pause(ms),
    now: () => this.now,
  })

  holds(pages: readonly (readonly BucketView[])[], error?: Error): this {
    this.#pages = [...pages]
    this.#error = error
    this.#isStuck = false
    return this
  }

  /** Sends no page after those that it holds, and no end. */
  sticks(pages: readonly (readonly BucketView[])[] = []): this {
    this.holds(pages)
    this.#isStuck = true
    return this
  }

  async *#survey() {
    this.walks++
    for (const page of this.#pages) {
      this.now += this.pageTakes
      yield page
    }
    if (this.#error !== undefined) throw this.#error
    if (this.#isStuck) await new Promise(() => undefined)
  }

  async *#surveyFamilies() {
    if (this.families.length > 0) yield this.families
  }

  async #pause(ms: number): Promise<void> {
    // The patience of the caller; all other rests are shorter.
    if (ms === 1_500) {
      for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => void setImmediate(resolve))
      return
    }
    this.rests.push(ms)
    await new Promise((resolve) => void setImmediate(resolve))
  }
}

test('it sums over the buckets of a pattern, and counts them by state', async () => {
  const store = new FakeSurvey().holds([
    [bucket({ state: 'full', waiting: 10, fill: 1, oldestWaitMs: 500 }), bucket({ pattern: 'a' })],
    [bucket({ state: 'waiting', waiting: 3, fill: 0.3, oldestWaitMs: 900 })],
  ])
  const count = await store.census.latest()
  expect(count?.patterns).toEqual(
    new Map([
      ['*', { waiting: 13, capacity: 20, fillMax: 1, oldestWaitMs: 900, held: NONE_HELD }],
      ['a', { waiting: 0, capacity: 10, fillMax: 0, oldestWaitMs: 0, held: NONE_HELD }],
    ]),
  )
  expect(count?.families).toEqual(new Map())
  expect(count?.states).toEqual({ idle: 1, waiting: 1, full: 1, frozen: 0, paused: 0 })
})

test('nothing is walked without a request, and concurrent requests share the walk', async () => {
  const store = new FakeSurvey().holds([[bucket({})]])
  expect(store.walks).toBe(0)
  await Promise.all([store.census.latest(), store.census.latest()])
  expect(store.walks).toBe(1)
  await store.census.latest()
  expect(store.walks).toBe(2)
})

test('a long walk continues in the background with rests, and its result is the next one', async () => {
  const store = new FakeSurvey().holds(Array.from({ length: 60 }, () => [bucket({ waiting: 1 })]))
  store.pageTakes = 2_000
  expect(await store.census.latest()).toBeUndefined()
  expect(store.rests).toHaveLength(50)
  await expect.poll(() => store.rests.length).toBe(60)
  expect(new Set(store.rests.slice(0, 49))).toEqual(new Set([0]))
  // Nine times as long as the page took.
  expect(new Set(store.rests.slice(49))).toEqual(new Set([18]))
  expect((await store.census.latest())?.patterns.get('*')?.waiting).toBe(60)
})

test('a walk with slow pages is a long one, however few they are', async () => {
  const store = new FakeSurvey().holds(Array.from({ length: 5 }, () => [bucket({ waiting: 1 })]))
  store.pageTakes = 100_000
  expect(await store.census.latest()).toBeUndefined()
  await expect.poll(() => store.rests).toEqual([0, 0, 900, 900, 900])
  expect((await store.census.latest())?.patterns.get('*')?.waiting).toBe(5)
})

test.each([
  [10, 1],
  [1_000_000, 1_000],
])('after a page of %d us a long walk rests for %d ms', async (pageTakes, rest) => {
  const store = new FakeSurvey().holds(Array.from({ length: 60 }, () => [bucket({})]))
  store.pageTakes = pageTakes
  await store.census.latest()
  expect(store.rests.at(-1)).toBe(rest)
})

test('while the store is unavailable nothing is known, and old figures are not reported', async () => {
  const store = new FakeSurvey().holds([[bucket({})]])
  expect(await store.census.latest()).toBeDefined()
  store.holds([[bucket({})]], new Error('gone'))
  expect(await store.census.latest()).toBeUndefined()
  store.holds([[bucket({})]])
  expect(await store.census.latest()).toBeDefined()
})

test('a store that does not reply is not waited for', async () => {
  const store = new FakeSurvey().holds([[bucket({})]])
  await store.census.latest()
  store.sticks()
  expect(await store.census.latest()).toBeUndefined()
  expect(await store.census.latest()).toBeUndefined()
  expect(store.walks).toBe(2)
})

test('a slow store counts as available', async () => {
  const store = new FakeSurvey().holds([[bucket({ waiting: 7 })]])
  await store.census.latest()
  store.sticks([[bucket({})], [bucket({})]])
  expect((await store.census.latest())?.patterns.get('*')?.waiting).toBe(7)
})

test('old results are not reported', async () => {
  const store = new FakeSurvey().holds(Array.from({ length: 60 }, () => [bucket({})]))
  await store.census.latest()
  await expect.poll(() => store.rests.length).toBe(60)
  store.now += 14 * MINUTE
  expect(await store.census.latest()).toBeDefined()
  await expect.poll(() => store.rests.length).toBe(120)
  store.now += 16 * MINUTE
  expect(await store.census.latest()).toBeUndefined()
})

test('closed, it ends the walk at its next page and starts no other', async () => {
  const store = new FakeSurvey().holds(Array.from({ length: 60 }, () => [bucket({})]))
  await store.census.latest()
  store.census.close()
  expect(await store.census.latest()).toBeUndefined()
  await new Promise((resolve) => void setImmediate(resolve))
  expect([store.rests.length, store.walks]).toEqual([50, 1])
})

test('counts what keeps the lines under limits of several parts, and what is used of quotas and places', async () => {
  const quota = (used: number, roomAt?: number) => [
    { quota: '10/day', used, amount: 10, ...(roomAt !== undefined && { roomAt }) },
  ]
  const held = (reason: HoldReason) => ({ jobs: 3, heldBy: { reason, detail: '' } })
  const survey = new FakeSurvey().holds([
    [
      bucket({ key: 'a', pattern: 'p', ...held('place'), quotas: quota(4), places: { taken: 2, of: 2 } }),
      // A job of one unit would have room, and the first of the line has none.
      bucket({ key: 'b', pattern: 'p', ...held('quota'), quotas: quota(9), places: { taken: 1, of: 2 } }),
      // One more would not, and the first of the line will.
      bucket({ key: 'c', pattern: 'p', ...held('slot'), quotas: quota(10, 5), places: { taken: 0, of: 2 } }),
      bucket({ key: 'd', pattern: 'p', jobs: 0, quotas: quota(10, 5), places: { taken: 2, of: 2 } }),
      bucket({ key: 'e', pattern: 'p', ...held('frozen'), state: 'frozen', quotas: quota(10, 5) }),
      bucket({ key: 'g', pattern: 'p', ...held('backoff'), quotas: quota(1) }),
      bucket({ key: 'h', pattern: 'p', ...held('quota'), quotas: quota(9) }),
      bucket({ key: 'f', pattern: 'simple', jobs: 3 }),
    ],
  ])
  const { patterns } = (await survey.census.latest())!
  expect(patterns.get('p')).toMatchObject({
    held: { pace: 1, quota: 2, places: 1 },
    parts: { quotaMax: 1, taken: 5, places: 8 },
  })
  expect(patterns.get('simple')).not.toHaveProperty('parts')
})

test('sums over the live totals of a pattern, and counts by what they hold the next job back', async () => {
  const family = (of: Partial<FamilyView>): FamilyView => ({
    ...{ path: 'a/', pattern: '*/', limit: '10, 1/s', state: 'waiting', waiting: 2, capacity: 10, fill: 0.2 },
    ...{ running: 0, children: 1, paused: false },
    ...of,
  })
  const held = (reason: HoldReason) => ({ heldBy: { reason, detail: '' } })
  const survey = new FakeSurvey().holds([[bucket({})]])
  survey.families = [
    family({ path: 'a/', ...held('slot') }),
    family({ path: 'b/', ...held('slot'), waiting: 9, fill: 0.9 }),
    family({ path: 'c/' }),
    family({ path: 'd/', ...held('paused'), paused: true }),
    family({ path: 'e/f/', pattern: 'e/*/', ...held('place'), places: { taken: 2, of: 2 } }),
    family({
      ...{ path: 'e/g/', pattern: 'e/*/', places: { taken: 1, of: 2 } },
      ...{ ...held('quota'), quotas: [{ quota: '10/day', used: 4, amount: 10 }] },
    }),
  ]
  const { families, states } = (await survey.census.latest())!
  expect(Object.values(states).reduce((sum, count) => sum + count)).toBe(1)
  expect(families).toEqual(
    new Map<string, unknown>([
      [
        'total */',
        { families: 4, waiting: 15, capacity: 40, fillMax: 0.9, held: { pace: 2, quota: 0, places: 0 } },
      ],
      [
        'total e/*/',
        {
          ...{ families: 2, waiting: 4, capacity: 20, fillMax: 0.2, held: { pace: 0, quota: 1, places: 1 } },
          parts: { quotaMax: 0.4, taken: 3, places: 4 },
        },
      ],
    ]),
  )
})
