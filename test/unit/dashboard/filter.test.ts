import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type BucketFilter,
  formatFilter,
  parseFilter,
  STATES,
} from '../../../src/dashboard/page/data/filter.ts'

function filterOf(text: string): BucketFilter {
  const reading = parseFilter(text)
  if (!reading.isGood) throw new Error(`${text}: ${reading.fault}`)
  return reading.filter
}

function faultOf(text: string): string {
  const reading = parseFilter(text)
  return reading.isGood ? 'none' : reading.fault
}

describe('the filter box', () => {
  test.each<[string, BucketFilter]>([
    ['', {}],
    ['   ', {}],
    ['twilio/acme', { prefix: 'twilio/acme' }],
    ['fill >= 50%', { minFill: 0.5 }],
    ['fill <= 20%', { maxFill: 0.2 }],
    ['FILL>=50%', { minFill: 0.5 }],
    ['fill >= 12.5 %', { minFill: 0.125 }],
    ['fill >= 10% fill <= 20%', { minFill: 0.1, maxFill: 0.2 }],
    ['state:frozen', { state: 'frozen' }],
    ['state: Full', { state: 'full' }],
    ['wait > 30s', { minOldestWaitMs: 30_000 }],
    ['wait >= 1m30s', { minOldestWaitMs: 90_000 }],
    ['wait > 30 s', { minOldestWaitMs: 30_000 }],
    ['wait > 2 m stripe', { minOldestWaitMs: 120_000, prefix: 'stripe' }],
    ['pattern:stripe/*', { pattern: 'stripe/*' }],
    ['pattern:"a b"', { pattern: 'a b' }],
    ['"my key"', { prefix: 'my key' }],
    [String.raw`"say \"hi\" \\ twice"`, { prefix: String.raw`say "hi" \ twice` }],
    ['fill', { prefix: 'fill' }],
    ['wait/here', { prefix: 'wait/here' }],
    ['state:paused twilio/ fill >= 1%', { state: 'paused', prefix: 'twilio/', minFill: 0.01 }],
  ])('reads %s', (text, filter) => {
    expect(filterOf(text)).toEqual(filter)
  })

  test('more than is not at least, by less than any bucket can show', () => {
    const { minFill = 0 } = filterOf('fill > 50%')
    expect(minFill).toBeGreaterThan(0.5)
    expect(minFill).toBeLessThan(0.500_01)
    const { maxFill = 0 } = filterOf('fill < 20%')
    expect(maxFill).toBeLessThan(0.2)
    expect(maxFill).toBeGreaterThan(0.199_99)
    expect(filterOf('fill > 0%').minFill).toBeGreaterThan(0)
  })

  test.each<[string, RegExp]>([
    ['fill > 50', /percentage such as fill > 50%, got: 50/],
    ['fill >', /got: nothing/],
    ['fill = 50%', /expected fill > or fill </],
    ['fill > 100%', /state:full/],
    ['fill < 0%', /expected fill < to be above 0%/],
    ['fill 50%', /did you mean fill > 50%/],
    ['status:frozen', /^did you mean state:frozen\? Write "status:frozen" for keys that begin with it$/],
    ['rule:stripe/*', /^did you mean pattern:stripe\/\*\?/],
    ['fill > 50% fill > 60%', /expected fill > once/],
    ['fill > 60% fill < 50%', /expected a minimum fill below the maximum/],
    ['state:broken', /idle, waiting, full, frozen, paused, got: broken/],
    ['state:', /got: nothing/],
    ['wait < 3s', /expected wait >/],
    ['wait > soon', /wait > 30s, got: soon/],
    ['wait > 30', /got: 30/],
    ['pattern:', /pattern:stripe/],
    ['two words', /the first is two/],
    ['"open', /closing "/],
  ])('says what is wrong with %s', (text, fault) => {
    expect(faultOf(text)).toMatch(fault)
  })

  test('writes what it reads', () => {
    const written = 'twilio/ fill > 50% fill < 90% state:waiting wait > 1m30s pattern:stripe/*'
    expect(formatFilter(filterOf(written))).toBe(written)
    expect(formatFilter(filterOf('"my key"'))).toBe('"my key"')
    expect(formatFilter({ prefix: 'state:full' })).toBe('"state:full"')
    expect(formatFilter({})).toBe('')
  })

  test('reads back whatever it writes', () => {
    const share = (min: number, max: number) => fc.integer({ min, max }).map((part) => part / 100_000)
    const text = fc
      .string({ minLength: 1, maxLength: 20, unit: 'grapheme' })
      .filter((some) => some.trim() === some)
    const filters = fc.record(
      {
        prefix: text,
        pattern: text.filter((some) => !/["\\]/.test(some)),
        minFill: share(0, 50_000),
        maxFill: share(50_000, 200_000),
        state: fc.constantFrom(...STATES),
        minOldestWaitMs: fc.integer({ min: 1, max: 1e10 }),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(filters, (filter) => {
        expect(filterOf(formatFilter(filter))).toEqual(filter)
      }),
    )
  })

  test('never throws', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void parseFilter(text)))
    const words = fc.array(
      fc.constantFrom('fill', 'wait', '>', '<', '50%', '30s', ':', 'state', '"', ' ', '\\', 'a'),
    )
    fc.assert(fc.property(words, (parts) => void parseFilter(parts.join(''))))
  })
})
