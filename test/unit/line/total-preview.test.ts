import { expect, test } from 'vitest'
import { LayeredBook, parseLayer } from '../../../src/core/layered-book.ts'
import type { PreviewedChange } from '../../../src/line/preview-change.ts'
import { PreviewCount } from '../../../src/line/rule-preview.ts'
import { Stage } from '../../support/stage.ts'

async function filled(limits: Record<string, string>, jobs: Record<string, number>) {
  const stage = new Stage(limits)
  for (const [key, count] of Object.entries(jobs)) await stage.fill(key, count)
  const of = (change: PreviewedChange) => stage.shaper.limits.preview(change)
  return { stage, of }
}

const NONE = { affected: 0, waiting: 0, overfull: 0, ungoverned: 0, samples: [] }

test('a new total is compared with what waits below it, and no bucket has another limit', async () => {
  const { of } = await filled({ '*': '50, 10/s' }, { 'a/x': 6, 'a/y': 4, a: 2, b: 5 })
  expect(await of({ set: ['a/', '10, 2/s'] })).toEqual({
    ...NONE,
    version: expect.any(Number),
    buckets: 4,
    drainMs: { before: 0, after: 0 },
    totals: {
      families: 1,
      buckets: 3,
      waiting: 12,
      overfull: 1,
      drainMs: { before: null, after: 6_000 },
      samples: [
        {
          path: 'a/',
          buckets: 3,
          waiting: 12,
          before: null,
          after: { pattern: 'a/', limit: '10, 2/s', fill: 1.2, drainMs: 6_000 },
        },
      ],
    },
  })
})

test('a total that is changed, and one that is gone', async () => {
  const { of } = await filled({ '*': '50, 10/s', '*/': '20, 2/s' }, { 'a/x': 6, 'a/y': 4, 'b/x': 2, c: 1 })
  const changed = (await of({ set: ['*/', '8, 1/s'] })).totals!
  expect(changed).toMatchObject({ families: 3, buckets: 4, waiting: 13, overfull: 1 })
  expect(changed.drainMs).toEqual({ before: 5_000, after: 10_000 })
  expect(changed.samples.map(({ path, after }) => [path, after?.fill])).toEqual([
    ['a/', 1.25],
    ['b/', 0.25],
    ['c/', 0.125],
  ])
  const gone = (await of({ unset: '*/' })).totals!
  expect(gone).toMatchObject({ families: 3, overfull: 0, drainMs: { before: 5_000, after: null } })
  expect(gone.samples.map(({ after }) => after)).toEqual([null, null, null])
})

test('where another pattern takes the place of a total, its limit is what would apply', async () => {
  const { of } = await filled(
    { '*': '50, 10/s', '*/': '20, 2/s', 'a/': '40, 4/s' },
    { 'a/x': 6, 'a/y': 4, 'b/x': 2 },
  )
  const { totals } = await of({ unset: 'a/' })
  expect(totals).toMatchObject({ families: 1, buckets: 2, drainMs: { before: 2_500, after: 5_000 } })
  expect(totals?.samples[0]).toMatchObject({ before: { pattern: 'a/' }, after: { pattern: '*/' } })
})

test('only the totals that change are counted, also where they nest', async () => {
  const { of } = await filled(
    { '*': '50, 10/s', 'a/': '50, 2/s', 'a/*/': '50, 1/s' },
    { 'a/b/x': 3, 'a/b/y': 1, 'a/c/x': 2, 'a/d': 1 },
  )
  const { totals } = await of({ set: ['a/*/', '50, 4/s'] })
  expect(totals).toMatchObject({ families: 3, buckets: 4, waiting: 7 })
  expect(totals?.samples.map(({ path }) => path)).toEqual(['a/b/', 'a/c/', 'a/d/'])
  expect((await of({ set: ['a/', '50, 4/s'] })).totals).toMatchObject({ families: 1, buckets: 4, waiting: 7 })
})

test('quotas and places of a total make its drain an estimate', async () => {
  const { of } = await filled({ '*': '50, 10/s' }, { 'a/x': 6, 'a/y': 6 })
  const { totals } = await of({ set: ['a/', '50, 2/s, 4/minute, 3 at once'] })
  expect(totals?.drainMs).toEqual({ before: null, after: 120_000, isEstimate: true })
})

test.each([{ set: ['z/', '10, 1/s'] }, { unset: 'z/' }] as const)(
  'of a family in which nothing lives nothing is said: %j',
  async (change) => {
    const { of } = await filled({ '*': '50, 10/s', 'z/': '5, 1/s' }, { 'a/x': 2 })
    expect((await of(change)).totals).toEqual({
      ...{ families: 0, buckets: 0, waiting: 0, overfull: 0, samples: [] },
      drainMs: { before: null, after: null },
    })
  },
)

test('a change of no total says nothing of totals', async () => {
  const { of } = await filled({ '*': '50, 10/s', 'a/': '50, 2/s' }, { 'a/x': 2 })
  for (const change of [{ set: ['*', '9, 1/s'] }, { set: ['a/', '50, 2/s'] }, { unset: 'b/' }] as const) {
    expect(await of(change)).not.toHaveProperty('totals')
  }
})

test('what the client may not see is not counted', async () => {
  const { stage } = await filled({ '*': '50, 10/s' }, { 'a/x': 6, 'a/y': 4 })
  const { totals } = await stage.shaper.limits.preview({ set: ['a/', '50, 2/s'] }, (key) => key === 'a/x')
  expect(totals).toMatchObject({ families: 1, buckets: 1, waiting: 6 })
})

test('beyond 50,000 families it says that there are more, and counts no further ones', () => {
  const before = LayeredBook.of(parseLayer({ '*': '9, 10/s' }))
  const after = LayeredBook.of(parseLayer({ '*': '9, 10/s', '*/': '5, 1/s' }))
  const count = new PreviewCount(before, after)
  const rest = {
    state: 'waiting',
    capacity: 9,
    fill: 1 / 9,
    retrying: 0,
    running: 0,
    oldestWaitMs: 0,
  } as const
  const view = { ...rest, pattern: '*', limit: '9, 10/s', waiting: 1, jobs: 1, paused: false } as const
  for (let n = 0; n < 50_002; n++) count.add({ ...view, key: `f${n}/x`, durability: 'memory' })
  // One that is known is counted on.
  count.add({ ...view, key: 'f7/y', durability: 'memory' })
  const { buckets, totals } = count.result(1)
  expect(buckets).toBe(50_003)
  expect(totals).toMatchObject({ families: 50_000, buckets: 50_001, waiting: 50_001, isPartial: true })
  expect(totals?.samples[0]).toMatchObject({ path: 'f7/', buckets: 2, waiting: 2 })
})

test('at most twenty families are shown, those that change most', async () => {
  const jobs = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`f${n}/x`, n + 1]))
  const { of } = await filled({ '*': '50, 10/s', '*/': '50, 2/s' }, jobs)
  const { totals } = await of({ set: ['*/', '50, 1/s'] })
  expect(totals?.families).toBe(30)
  expect(totals?.samples.map(({ waiting }) => waiting)).toEqual(Array.from({ length: 20 }, (_, n) => 30 - n))
})
