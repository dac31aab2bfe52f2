import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openDemoView } from '../../../src/cli/demo/view.ts'
import { RunLog } from '../../../src/demo/run-log.ts'
import { ACCOUNT, madeUpTenants } from './made-up-runs.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] })
  vi.stubEnv('NO_COLOR', '')
  vi.stubEnv('TERM', 'xterm')
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

/** A terminal that keeps what was written to it. */
function terminal(columns: number, rows: number) {
  const written: string[] = []
  const stream = { isTTY: true, columns, rows, write: (text: string) => written.push(text) > 0 }
  return { written, stream: stream as unknown as NodeJS.WriteStream }
}

describe('the view of the demo', () => {
  it('redraws while no call is pending, and restores the cursor', () => {
    const { written, stream } = terminal(80, 24)
    const listeners = process.listenerCount('SIGINT')
    const view = openDemoView(stream)
    let isQuiet = false
    view.begin(new RunLog(false, [ACCOUNT]), () => isQuiet)
    vi.advanceTimersByTime(50)
    expect(written).toEqual(['\u001b[?25l\u001b[?7l'])
    isQuiet = true
    vi.advanceTimersByTime(1_000)
    expect(written.length).toBeGreaterThan(9)
    expect(written[1]).toContain('The same bursts')
    // As many lines back up as were written.
    const lines = written[1]!.split('\n').length - 1
    expect(written[2]!.startsWith(`\u001b[${lines}A\u001b[2K`)).toBe(true)
    expect(process.listenerCount('SIGINT')).toBe(listeners + 1)
    view.end()
    expect(written.at(-1)).toBe('\u001b[?25h\u001b[?7h')
    expect(process.listenerCount('SIGINT')).toBe(listeners)
    const count = written.length
    vi.advanceTimersByTime(1_000)
    expect(written).toHaveLength(count)
  })

  it('draws the tenants below the runs, and leaves those as they are', () => {
    const { written, stream } = terminal(80, 24)
    const view = openDemoView(stream)
    view.begin(new RunLog(false, [ACCOUNT]), () => true)
    vi.advanceTimersByTime(150)
    view.beginTenants(madeUpTenants(), () => true)
    const before = written.length
    vi.advanceTimersByTime(250)
    const drawn = written.slice(before)
    expect(drawn.length).toBeGreaterThan(1)
    expect(drawn[0]!.startsWith('\u001b[2K\n')).toBe(true)
    expect(drawn[0]).toContain('Two tenants behind one account')
    expect(drawn[1]!.startsWith(`\u001b[${drawn[0]!.split('\n').length - 1}A`)).toBe(true)
    for (const text of drawn) expect(text).not.toContain('The same bursts')
    view.end()
  })

  it('restores the cursor when the process ends or is interrupted', () => {
    const { written, stream } = terminal(80, 24)
    const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never)
    const view = openDemoView(stream)
    view.begin(new RunLog(false, [ACCOUNT]), () => false)
    process.listeners('SIGINT').at(-1)!('SIGINT')
    expect(exit).toHaveBeenCalledWith(130)
    process.listeners('exit').at(-1)!(130)
    expect(written.at(-1)).toBe('\u001b[?25h\u001b[?7h')
    view.end()
  })

  it.each([
    ['without colour', { NO_COLOR: '1' }, 80],
    ['on a dumb terminal', { TERM: 'dumb' }, 80],
    ['where the picture does not fit', {}, 60],
  ])('writes plain lines %s', (_, env, columns) => {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
    const { written, stream } = terminal(columns, 24)
    let text = ''
    vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
      text += String(chunk)
      return true
    })
    const view = openDemoView(stream)
    view.begin(new RunLog(false, [ACCOUNT]), () => true)
    view.begin(new RunLog(true, [ACCOUNT]), () => true)
    vi.advanceTimersByTime(1_000)
    view.beginTenants(madeUpTenants(), () => true)
    vi.advanceTimersByTime(1_000)
    view.end()
    expect(written).toEqual([])
    expect(text.split('\n').slice(0, 9)).toEqual([
      'without velvet-rope',
      '  0.0 s  acme 0 calls, 0 × 429',
      'with velvet-rope',
      '  1.0 s  acme 0/3 waiting, 0 called, 0 × 429',
      '  1.0 s  acme 0/3 waiting, 0 called, 0 × 429',
      '',
      'Two tenants behind one account of 5/s; initech sends 8 jobs at once',
      '',
      expect.stringMatching(/^one line {2}initech {2}█ █ +waits up to 0\.20 s$/),
    ])
  })
})
