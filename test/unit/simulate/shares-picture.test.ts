import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { RuleBook } from '../../../src/core/rule-book.ts'
import { FamilySimulation } from '../../../src/simulate/family-simulation.ts'
import { type GenerateOptions, generateArrivals } from '../../../src/simulate/generate-arrivals.ts'
import { OneLine } from '../../../src/simulate/one-line.ts'
import { renderShares } from '../../../src/simulate/shares-picture.ts'

const FLOOD = { pattern: 'flood', seconds: 60, rate: 6, keys: 4, seed: 1, prefix: 'stripe/' } as const

function draw(
  limits: Record<string, string>,
  options: GenerateOptions = FLOOD,
  cost = 1,
): string | undefined {
  const book = new RuleBook(limits)
  const [oneLine, shared] = [new OneLine(book), new FamilySimulation(book)]
  for (const arrival of [...generateArrivals(options)].flat()) {
    oneLine.offer({ ...arrival, cost })
    shared.offer({ ...arrival, cost })
  }
  oneLine.finish()
  shared.finish()
  return renderShares(oneLine.book, shared.families)
}

describe('the picture of shares', () => {
  it('is in the documents as it is drawn now, and the README has its numbers', () => {
    const picture = draw({ 'stripe/*': '500, 5/s', 'stripe/': '1000, 5/s' })
    expect(readFileSync('docs/shares.svg', 'utf8')).toBe(picture)
    const readme = readFileSync('README.md', 'utf8')
    const waits = [...picture!.matchAll(/>(?:one line|shared), (up to [\d.]+ s)</g)].map(([, wait]) => wait!)
    expect(waits).toHaveLength(2)
    for (const wait of waits) expect(readme).toContain(wait)
    expect(picture).toContain('stripe/key-1 sends 180 of them')
    expect(picture).toContain('>cut off: up to ')
  })

  it('says how many jobs each rejects', () => {
    const picture = draw({ 'stripe/*': '500, 5/s', 'stripe/': '90, 5/s' })
    expect(picture).toContain('>Arrivals that are accepted when shared<')
    expect(picture!.match(/>\d+ rejected</g)).toHaveLength(2)
  })

  it('counts the units of jobs, as its limit does', () => {
    // So long that the columns of both are equally wide.
    const flood = { ...FLOOD, seconds: 62 }
    const paths = (svg: string) => [...svg.matchAll(/<path[^>]*d="([^"]+)"/g)].map(([, path]) => path)
    const plain = draw({ 'stripe/*': '500, 5/s', 'stripe/': '1000, 5/s' }, flood)!
    const costly = draw({ 'stripe/*': '5000, 50/s', 'stripe/': '10000, 50/s' }, flood, 10)!
    expect(plain).toContain('jobs/s')
    expect(costly).not.toContain('jobs/s')
    expect(costly).toContain('cost units/s')
    expect(paths(plain).length).toBeGreaterThan(5)
    // Ten times the units at ten times the rate are the same picture.
    expect(paths(costly)).toEqual(paths(plain))
  })

  it('is whole with one child and with few arrivals, and none where no total governs a key', () => {
    for (const options of [
      { ...FLOOD, keys: 1 },
      { ...FLOOD, rate: 0.05 },
    ]) {
      const picture = draw({ '*': '500, 5/s', 'stripe/': '1000, 5/s' }, options)
      expect(picture).toContain('</svg>')
      expect(picture).not.toMatch(/NaN|Infinity|undefined/)
    }
    expect(draw({ '*': '500, 5/s', 'other/': '9, 9/s' })).toBeUndefined()
    expect(draw({ '*': '500, 5/s', 'stripe/': '9, 9/s' }, { ...FLOOD, rate: 1e-9 })).toBeUndefined()
  })
})
