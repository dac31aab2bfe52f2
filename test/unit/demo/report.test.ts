import { describe, expect, it } from 'vitest'
import { demoReport } from '../../../src/cli/demo/report.ts'
import { fitsScreen, renderScreen } from '../../../src/cli/demo/screen.ts'
import { renderTenants } from '../../../src/cli/demo/tenants-screen.ts'
import { SECOND } from '../../../src/core/duration.ts'
import { ACCOUNTS } from '../../../src/demo/account.ts'
import { renderDemo } from '../../../src/demo/demo-picture.ts'
import { RunLog } from '../../../src/demo/run-log.ts'
import { tally } from '../../../src/demo/tally.ts'
import { SHARED_ACCOUNTS, TenantsLog } from '../../../src/demo/tenants.ts'
import { problemsOf } from '../../../src/demo/verdict.ts'
import { madeUpRuns, madeUpTenants } from './made-up-runs.ts'

describe('tally', () => {
  it('counts the outcomes of the jobs, and measures the calls at the API', () => {
    const { without, behind } = madeUpRuns()
    expect(tally(without.of('acme'))).toMatchObject({ calls: 6, refused: 5, utilisation: Number.NaN })
    expect(tally(without.of('acme')).smallestGap).toBeCloseTo(0.005)
    expect(tally(behind.of('acme'))).toEqual({
      accepted: 4,
      rejected: 2,
      calls: 4,
      refused: 0,
      smallestGap: 1,
      utilisation: 1,
      longestWaitMs: 597,
    })
  })
})

describe('the report', () => {
  it('says ok with the numbers', () => {
    const text = demoReport(madeUpRuns())
    expect(text).toMatch(/^429s {2,}5 {2,}0$/m)
    expect(text).toMatch(/^smallest gap \/ interval {2,}0\.005 {2,}1\.000$/m)
    expect(text).toContain('Rejected: 2 jobs, with retryAfterMs of 0.195 s to 0.196 s.')
    expect(text).toContain(
      'ok: every guarantee kept; 429s without velvet-rope: 5 of 6 calls, with it: 0 of 4',
    )
  })

  it('names what went wrong', () => {
    const result = { ...madeUpRuns(), breaches: [{ law: 'L2', at: 0, message: 'too close' } as const] }
    const { calls } = result.behind.of('acme')
    calls.push({ ...calls[0]!, isRefused: true })
    result.behind.errors.push('acme: socket hang up')
    expect(problemsOf(result)).toEqual([
      'L2: too close',
      '429: 1 of 5 calls of key "acme" were refused by the API',
      'acme: socket hang up',
    ])
    expect(demoReport(result)).toMatch(/acme: socket hang up\nbroken: /)
  })

  it('says how long a tenant waited beside one that floods, and what went wrong there', () => {
    const tenants = madeUpTenants()
    const result = { ...madeUpRuns(), tenants }
    expect(demoReport(result)).toContain(
      '\nBeside the flood of initech, acme waited up to 0.30 s with one line for the account, and 0.10 s with its share.\n\nok: ',
    )
    const [oneLine, shared] = tenants
    shared!.breaches = [{ law: 'L12', at: 0, message: 'unfair' }]
    shared!.calls.push({ key: 'shared', at: 0, isRefused: true })
    oneLine!.errors.push('one-line: socket hang up')
    expect(problemsOf(result)).toEqual([
      'L12: unfair',
      '429: 1 of 1 calls of key "shared" were refused by the API',
      'one-line: socket hang up',
    ])
    expect(demoReport(result)).toContain('broken: velvet-rope did not keep its guarantees')
  })

  it('does not mention rejected jobs if there were none', () => {
    const result = madeUpRuns()
    result.behind.of('acme').rejections.length = 0
    expect(demoReport(result)).toContain('No job was rejected.')
  })
})

describe('the live picture', () => {
  it.each([
    [80, 24],
    [120, 40],
  ])('fits %d x %d from the first frame on', (columns, rows) => {
    const runs = [new RunLog(false, ACCOUNTS, 0), new RunLog(true, ACCOUNTS, 3 * SECOND)]
    for (const shown of [[], runs.slice(0, 1), runs]) {
      const lines = renderScreen(shown, 60 * SECOND, { columns, rows })
      expect(lines.length).toBeLessThan(rows)
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns)
    }
    expect(fitsScreen({ columns, rows })).toBe(true)
    expect(fitsScreen({ columns: 60, rows })).toBe(false)
  })

  it('draws arrivals ragged, departures flat, and the line', () => {
    const { without, behind } = madeUpRuns()
    const lines = renderScreen([without, behind], 10.75 * SECOND, { columns: 80, rows: 24 })
    const row = (label: string) => lines.find((line) => line.startsWith(`  ${label}`))!.split(' ┊ ')[1]!
    expect(row('arrivals').slice(0, 6)).toBe('█     ')
    expect(row('calls')).toMatch(/^▂▂▂▂ {2,}with 0 × 429$/)
    expect(row('the line')).toMatch(/^···┃ +0\/3 waiting$/)
  })
})

describe('the picture of the tenants', () => {
  it('has a column for each start of the account, and fits a terminal', () => {
    const lines = renderTenants(madeUpTenants())
    expect(lines).toEqual([
      'Two tenants behind one account of 5/s; initech sends 8 jobs at once',
      '',
      `one line  initech  █ █ ${' '.repeat(20)}  waits up to 0.20 s`,
      `          acme       · █ ${' '.repeat(18)}  waits up to 0.30 s`,
      '',
      `shared    initech  █ · █ ${' '.repeat(18)}  waits up to 0.40 s`,
      `          acme       █   ${' '.repeat(18)}  waits up to 0.10 s`,
    ])
    expect(renderTenants(SHARED_ACCOUNTS.map(({ key }) => new TenantsLog(key, 0)))).toHaveLength(7)
    for (const line of lines) expect(line.length).toBeLessThan(80)
  })
})

describe('the picture', () => {
  it('is well-formed and marks each 429', () => {
    const svg = renderDemo(madeUpRuns())
    const open: string[] = []
    for (const [, closing, name, attributes] of svg.matchAll(/<(\/?)([a-z]+)([^>]*)>/g)) {
      if (closing === '/') expect(open.pop()).toBe(name)
      else if (!attributes!.endsWith('/')) open.push(name!)
    }
    expect(open).toEqual([])
    expect(svg).not.toMatch(/NaN|Infinity|undefined/)
    const red = svg.match(/stroke="#e5372b"[^>]* d="([^"]*)"/)![1]!
    expect(red.match(/M/g)).toHaveLength(5)
  })
})
