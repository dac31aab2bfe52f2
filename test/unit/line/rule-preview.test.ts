import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { BucketView } from '../../../src/core/bucket-view.ts'
import { LayeredBook, parseLayer } from '../../../src/core/layered-book.ts'
import { parseLimit } from '../../../src/core/limit.ts'
import { formatLimit } from '../../../src/core/limit-format.ts'
import { parseRule } from '../../../src/core/rule-book.ts'
import {
  changeLayers,
  type LayeredRule,
  type RuleChange,
  type RuleLayers,
} from '../../../src/core/rule-layers.ts'
import { PreviewCount } from '../../../src/line/rule-preview.ts'

/** A live bucket with so many units, of which some are to be tried again. */
function viewOf(key: string, pattern: string, limit: string, units: number, returned = 0): BucketView {
  const { capacity } = parseLimit(limit)
  return {
    key,
    pattern,
    limit,
    state: 'waiting',
    waiting: units - returned,
    capacity,
    fill: units / capacity,
    jobs: 0,
    retrying: 0,
    running: 0,
    oldestWaitMs: 0,
    paused: false,
    durability: 'memory',
  }
}

function bookAfter(book: LayeredBook, ...changes: RuleChange[]): LayeredBook {
  return changes.reduce((before, change) => {
    const layers = changeLayers(before.layers, change, 1)
    return layers === undefined ? before : new LayeredBook(layers)
  }, book)
}

const bookOf = (limits: Record<string, string>) => LayeredBook.of(parseLayer(limits))
const set = (pattern: string, limit: string): RuleChange => ({ kind: 'set', rule: parseRule(pattern, limit) })

function preview(before: LayeredBook, after: LayeredBook, views: readonly BucketView[]) {
  const count = new PreviewCount(before, after)
  for (const view of views) count.add(view)
  return count.result(7)
}

test('says what a lower limit does: which buckets exceed it, and how much longer the lines take', () => {
  const before = bookOf({ '*': '10, 10/s', 'b/*': '10, 1/s' })
  const views = [
    viewOf('a', '*', '10, 10/s', 4),
    viewOf('c', '*', '10, 10/s', 10, 3),
    viewOf('b/1', 'b/*', '10, 1/s', 9),
    viewOf('empty', '*', '10, 10/s', 0),
  ]
  expect(preview(before, bookAfter(before, set('*', '5, 2/s')), views)).toEqual({
    version: 7,
    buckets: 4,
    affected: 3,
    waiting: 14,
    overfull: 1,
    drainMs: { before: 1_000, after: 5_000 },
    ungoverned: 0,
    samples: [
      {
        key: 'c',
        waiting: 10,
        before: { pattern: '*', limit: '10, 10/s', fill: 1, drainMs: 1_000 },
        after: { pattern: '*', limit: '5, 2/s', fill: 2, drainMs: 5_000 },
      },
      {
        key: 'a',
        waiting: 4,
        before: { pattern: '*', limit: '10, 10/s', fill: 0.4, drainMs: 400 },
        after: { pattern: '*', limit: '5, 2/s', fill: 0.8, drainMs: 2_000 },
      },
      {
        key: 'empty',
        waiting: 0,
        before: { pattern: '*', limit: '10, 10/s', fill: 0, drainMs: 0 },
        after: { pattern: '*', limit: '5, 2/s', fill: 0, drainMs: 0 },
      },
    ],
  })
})

test('a bucket without a rule comes first, keeps its drain, and is above no capacity', () => {
  const before = bookOf({ a: '10, 10/s', b: '10, 1/s' })
  const after = bookAfter(before, { kind: 'unset', pattern: 'a' }, set('b', '9, 1/h'))
  const found = preview(before, after, [viewOf('b', 'b', '10, 1/s', 10), viewOf('a', 'a', '10, 10/s', 1)])
  expect(found).toMatchObject({ affected: 2, ungoverned: 1, overfull: 1 })
  expect(found.drainMs).toEqual({ before: 10_000, after: 36_000_000 })
  expect(found.samples.map(({ key, after }) => [key, after?.pattern])).toEqual([
    ['a', undefined],
    ['b', 'b'],
  ])
})

test('a bucket that no rule governed, and whose rule comes back, is affected though its limit is the same', () => {
  const known = bookOf({ a: '10, 10/s' })
  const before = bookAfter(known, { kind: 'unset', pattern: 'a' })
  const view = viewOf('a', 'a', '10, 10/s', 3)
  expect(preview(before, known, [view])).toMatchObject({ affected: 1, ungoverned: 0 })
  // And one that had none before has lost nothing.
  expect(preview(before, before, [view])).toMatchObject({
    buckets: 1,
    affected: 0,
    ungoverned: 0,
    samples: [],
  })
})

test('the same limit by another hand changes nothing; that of another pattern changes the rule', () => {
  const before = bookOf({ '*': '10, 10/s', a: '5, 1/s' })
  const views = [viewOf('a', 'a', '5, 1/s', 1), viewOf('b', '*', '10, 10/s', 1)]
  expect(preview(before, bookAfter(before, set('a', '5, 1/s')), views)).toMatchObject({ affected: 0 })
  const found = preview(before, bookAfter(before, set('b', '10, 10/s')), views)
  expect(found.samples.map(({ key, after }) => [key, after?.pattern])).toEqual([['b', 'b']])
})

test('a bucket that is met twice counts once', () => {
  const before = bookOf({ '*': '10, 10/s' })
  const view = viewOf('a', '*', '10, 10/s', 3)
  const found = preview(before, bookAfter(before, set('*', '5, 1/s')), [view, view])
  expect(found).toMatchObject({ buckets: 1, affected: 1, waiting: 3 })
  expect(found.samples).toHaveLength(1)
})

test('counts on beyond what it remembers, and shows no key twice', () => {
  const before = bookOf({ '*': '10, 10/s' })
  const count = new PreviewCount(before, bookAfter(before, set('*', '5, 1/s')))
  for (let n = 0; n < 50_000; n++) count.add(viewOf(`k${n}`, '*', '10, 10/s', 0))
  for (let again = 0; again < 2; again++) {
    count.add(viewOf('k7', '*', '10, 10/s', 0))
    count.add(viewOf('last', '*', '10, 10/s', 3))
  }
  const { buckets, affected, samples } = count.result(1)
  expect([buckets, affected]).toEqual([50_002, 50_002])
  expect(samples.map(({ key }) => key).filter((key) => key === 'last')).toEqual(['last'])
})

/** Matching by the words of the rule book: every pattern is tried, the longest wins, then the first literal. */
function slowFind(book: LayeredBook, key: string): LayeredRule | undefined {
  const segments = key.split('/')
  return book
    .list()
    .filter(({ pattern }) => {
      const parts = pattern.split('/')
      return parts.length <= segments.length && parts.every((part, n) => part === '*' || part === segments[n])
    })
    .sort((one, other) => {
      const [a, b] = [one.pattern.split('/'), other.pattern.split('/')]
      if (a.length !== b.length) return b.length - a.length
      const at = a.findIndex((part, n) => part !== b[n])
      return at === -1 ? 0 : a[at] === '*' ? 1 : -1
    })[0]
}

const segment = fc.constantFrom('a', 'b', 'c')
const keys = fc.array(segment, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'))
const patterns = fc
  .array(fc.oneof(segment, fc.constant('*')), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.join('/'))
const limits = fc
  .tuple(fc.integer({ min: 1, max: 6 }), fc.constantFrom('1/s', '2/s', '10/s', '1/m', '3/m'))
  .map(([capacity, rate]) => `${capacity}, ${rate}`)
const layers: fc.Arbitrary<RuleLayers> = fc
  .tuple(
    fc.dictionary(patterns, limits, { maxKeys: 4, noNullPrototype: true }),
    fc.dictionary(patterns, limits, { maxKeys: 3, noNullPrototype: true }),
    fc.dictionary(patterns, limits, { maxKeys: 2, noNullPrototype: true }),
    fc.uniqueArray(fc.tuple(patterns, fc.option(limits, { nil: undefined })), {
      maxLength: 3,
      selector: ([pattern]) => pattern,
    }),
  )
  .map(([code, file, environment, overrides]) => ({
    code: parseLayer(code).rules,
    file: parseLayer(file, 'file').rules,
    environment: parseLayer(environment, 'environment').rules,
    overrides: overrides.map(([pattern, limit]) => ({
      pattern,
      limit: limit === undefined ? undefined : parseLimit(limit),
    })),
  }))
const changes: fc.Arbitrary<RuleChange> = fc.oneof(
  fc.tuple(patterns, limits).map(([pattern, limit]) => set(pattern, limit)),
  patterns.map((pattern) => ({ kind: 'unset' as const, pattern })),
  patterns.map((pattern) => ({ kind: 'reset' as const, pattern })),
)

test('agrees with trying every pattern on every bucket', () => {
  fc.assert(
    fc.property(
      layers,
      changes,
      fc.uniqueArray(fc.tuple(keys, fc.integer({ min: 0, max: 12 }), limits), {
        maxLength: 40,
        selector: ([key]) => key,
      }),
      (given, change, lines) => {
        const before = new LayeredBook(given)
        const after = bookAfter(before, change)
        // One that no rule governs has a limit from before.
        const views = lines.map(([key, units, old]) => {
          const rule = slowFind(before, key)
          return viewOf(
            key,
            rule?.pattern ?? 'gone',
            rule === undefined ? old : formatLimit(rule.limit),
            units,
          )
        })
        const expected = views.flatMap((view) => {
          const [old, rule] = [slowFind(before, view.key), slowFind(after, view.key)]
          const isSame =
            old !== undefined && rule !== undefined && formatLimit(old.limit) === formatLimit(rule.limit)
          if (old?.pattern === rule?.pattern && (isSame || old === undefined)) return []
          const units = Math.round(view.fill * view.capacity)
          const drain = (units * parseLimit(view.limit).interval) / 1_000
          const later = rule === undefined ? drain : (units * rule.limit.interval) / 1_000
          const fill = rule === undefined ? undefined : units / rule.limit.capacity
          return [{ key: view.key, old: view, units, drain, later, fill, rule }]
        })
        const weights = ({ drain, later, fill, old, rule }: (typeof expected)[number]) => [
          rule === undefined ? 1 : 0,
          rule === undefined ? drain : Math.abs(later - drain),
          fill === undefined ? old.fill : Math.abs(fill - old.fill),
        ]
        const ranked = expected.toSorted((one, other) => {
          const [a, b] = [weights(one), weights(other)]
          const at = a.findIndex((weight, n) => weight !== b[n])
          return at === -1 ? (one.key < other.key ? -1 : 1) : b[at]! - a[at]!
        })
        expect(preview(before, after, views)).toEqual({
          version: 7,
          buckets: views.length,
          affected: expected.length,
          waiting: expected.reduce((sum, { units }) => sum + units, 0),
          overfull: expected.filter(({ fill = 0 }) => fill > 1).length,
          drainMs: {
            before: Math.max(0, ...expected.map(({ drain }) => drain)),
            after: Math.max(0, ...expected.map(({ later }) => later)),
          },
          ungoverned: expected.filter(({ rule }) => rule === undefined).length,
          samples: ranked.slice(0, 20).map(({ key, old, units, drain, later, fill, rule }) => ({
            key,
            waiting: units,
            before: { pattern: old.pattern, limit: old.limit, fill: old.fill, drainMs: drain },
            after:
              rule === undefined
                ? null
                : { pattern: rule.pattern, limit: formatLimit(rule.limit), fill, drainMs: later },
          })),
        })
      },
    ),
    { numRuns: 500 },
  )
})

test('the drain time counts with the windows of quotas, and says that it is an estimate', () => {
  const before = bookOf({ '*': '1000, 10/s' })
  const views = [{ ...viewOf('a', '*', '1000, 10/s', 500), jobs: 450, retrying: 50 }]
  const after = (limit: string) => preview(before, bookAfter(before, set('*', limit)), views)
  expect(after('1000, 20/s').drainMs).toEqual({ before: 50_000, after: 25_000 })
  // Five windows: the first is there at once.
  expect(after('1000, 10/s, 100/hour').drainMs).toEqual({
    before: 50_000,
    after: 4 * 3_600_000,
    isEstimate: true,
  })
  // Jobs that name no tokens count 200 each: 100,000 in ten windows.
  const tokens = after('1000, 100/s, 10000 tokens/minute 200 each')
  expect(tokens.drainMs).toEqual({ before: 50_000, after: 9 * 60_000, isEstimate: true })
  expect(tokens.samples[0]!.before).not.toHaveProperty('isEstimate')
  expect(tokens.samples[0]!.after).toMatchObject({ drainMs: 9 * 60_000, isEstimate: true })
  // The pace decides where it takes longer; how long handlers hold their places is unknown.
  expect(after('1000, 1/s, 400/minute').drainMs.after).toBe(500_000)
  expect(after('1000, 10/s, 5 at once').drainMs).toEqual({ before: 50_000, after: 50_000, isEstimate: true })
})
