import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { demoCommand } from '../../../src/cli/demo/command.ts'
import { parseLimit } from '../../../src/core/limit.ts'
import type { Account } from '../../../src/demo/account.ts'
import { runDemo } from '../../../src/demo/demo.ts'
import { RunLog } from '../../../src/demo/run-log.ts'
import { problemsOf } from '../../../src/demo/verdict.ts'
import { faultsIn, faultsOf, unfairRefusals } from '../../support/demo-laws.ts'

const folder = mkdtempSync(join(tmpdir(), 'velvet-rope-demo-'))
afterAll(() => rmSync(folder, { recursive: true }))
afterEach(() => {
  vi.restoreAllMocks()
  process.exitCode = undefined
})

/** Slow enough that a busy machine does not matter. */
const accounts: readonly Account[] = [{ key: 'acme', limit: parseLimit('3, 2/s'), bursts: [[0, 6]] }]

/** Runs the command in this process and catches what it prints. */
async function demo(slack: number, svg: string): Promise<string> {
  let text = ''
  vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    text += String(chunk)
    return true
  })
  await demoCommand({ accounts, slack }).parseAsync(['--seconds', '1', '--svg', svg], { from: 'user' })
  return text
}

describe('the demo', () => {
  it('shows both runs, and none of its calls is refused with velvet-rope', async () => {
    const seen: RunLog[] = []
    const view = {
      begin: (run: RunLog) => void seen.push(run),
      beginTenants: vi.fn(),
      end: vi.fn(),
    }
    const result = await runDemo({ accounts, cycles: 1, slack: 0.1 }, view)
    expect(faultsOf(problemsOf(result))).toEqual([])
    expect(unfairRefusals(result.behind, 0.1)).toBe(0)
    expect(seen).toEqual([result.without, result.behind])
    expect(view.end).toHaveBeenCalledOnce()
    expect(result.without.refused).toBe(5)
    const { accepted, rejections, cameBack, departures, calls } = result.behind.of('acme')
    expect({ accepted, rejected: rejections.length, cameBack }).toEqual({
      accepted: 5,
      rejected: 2,
      cameBack: 1,
    })
    expect(departures).toHaveLength(5)
    expect(calls).toHaveLength(5)
    expect(view.beginTenants).toHaveBeenCalledExactlyOnceWith(result.tenants, expect.any(Function))
  })

  it('gives a tenant its share of an account beside a flood, which one line does not', async () => {
    const view = { begin: vi.fn(), beginTenants: vi.fn(), end: vi.fn() }
    const { tenants } = await runDemo({ accounts: [], cycles: 0, slack: 0.1 }, view)
    const [oneLine, shared] = tenants
    for (const log of tenants) {
      expect(faultsOf(log.breaches.map(({ law }) => `${law}: `))).toEqual([])
      expect(log.errors).toEqual([])
      expect(log.calls).toHaveLength(12)
      expect(log.starts).toHaveLength(12)
    }
    // First come first served: those that came later wait for all eight.
    expect(oneLine!.starts.map(({ tenant }) => tenant)).toEqual([
      ...new Array(8).fill('initech'),
      ...new Array(4).fill('acme'),
    ])
    // In turn, whenever it has a job: between two of its starts there is one of the flood at most while it waits.
    const order = shared!.starts
    for (const job of order.filter(({ tenant }) => tenant === 'acme')) {
      const before = order.filter(({ startedAt }) => startedAt > job.sentAt && startedAt < job.startedAt)
      const ofFlood = before.filter(({ tenant }) => tenant === 'initech')
      const own = before.length - ofFlood.length
      expect(ofFlood.length).toBeLessThanOrEqual(own + 2)
    }
  })

  it('exits 1 with a message if the API is stricter than the limit', async () => {
    const svg = join(folder, 'strict.svg')
    // Four times as strict: no machine holds a call up for so long.
    const text = await demo(-3, svg)
    expect(process.exitCode).toBe(1)
    // On a busy machine a run takes longer, and makes more calls.
    const [, refused] =
      /^429: ([1-9]\d*) of \d+ calls of key "acme" were refused by the API$/m.exec(text) ?? []
    expect(refused, text).toBeDefined()
    expect(text).toContain('broken: ')
    expect(readFileSync(svg, 'utf8')).toContain(`with it ${refused}.`)
  })
})

describe('what is excused in a demo on a busy machine', () => {
  const run = (ways: readonly number[]): RunLog => {
    const log = new RunLog(true, accounts)
    for (const [nth, way] of ways.entries()) {
      const at = nth * 500_000
      log.of('acme').departures.push({ at, waitedMs: 0 })
      log.of('acme').calls.push({ key: 'acme', at: at + way, isRefused: nth === 2 })
    }
    return log
  }

  it('is a 429 for a call that caught up with the previous one, and no other', () => {
    expect(unfairRefusals(run([1_000, 60_000, 1_000]), 0.1)).toBe(0)
    expect(unfairRefusals(run([60_000, 1_000, 1_000]), 0.1)).toBe(1)
  })

  it('is a rate that was not kept, and no other law, and no error', () => {
    const broken = 'broken: the rope did not hold what it promises'
    expect(faultsIn(`L3: slow\n${broken}`)).toEqual([])
    expect(faultsIn(`L3: slow\nL2: early\n${broken}`)).toEqual(['L2: early'])
    expect(faultsIn(`the API answered 500\n${broken}`)).toEqual([broken])
    expect(faultsOf(['429: 1 of 5 calls', 'L3: slow', 'the API answered 500'])).toEqual([
      'the API answered 500',
    ])
  })
})
