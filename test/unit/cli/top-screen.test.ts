import { describe, expect, it } from 'vitest'
import { plainText, textWidth } from '../../../src/cli/display-text.ts'
import { formatFill } from '../../../src/cli/numbers.ts'
import { fillBar, shortCount, shortTime } from '../../../src/cli/top/cells.ts'
import { renderTop, rowsSeen, type TopFrame } from '../../../src/cli/top/screen.ts'
import { FIRST_STATE } from '../../../src/cli/top/state.ts'
import { renderTopTable } from '../../../src/cli/top/table.ts'
import { AT, view } from './top-views.ts'

const BUCKETS = [
  view('slow', {
    state: 'full',
    waiting: 20,
    capacity: 20,
    fill: 1,
    limit: '20, 1/m',
    oldestWaitMs: 1_500_000,
    nextDepartureAt: undefined,
    waitingSince: undefined,
  }),
  view('twilio/acme/+15551234', { waiting: 4_321, capacity: 5_000, fill: 0.8642 }),
  view('shop/frozen', { state: 'frozen', fill: 0.12, waiting: 12, nextDepartureAt: AT + 95_000, running: 0 }),
  view('shop/paused', { state: 'paused', fill: 0.4, waiting: 40, paused: true, nextDepartureAt: undefined }),
  view('big', { fill: 0.004, waiting: 12_345, capacity: 3_000_000 }),
]

function draw(columns: number, rows: number, more: Partial<TopFrame> = {}): string[] {
  const frame = {
    state: FIRST_STATE,
    found: { rows: BUCKETS, total: 5 },
    place: '127.0.0.1:7077',
    now: AT,
    ...more,
  }
  return renderTop(frame, { columns, rows })
}

describe('the picture of top', () => {
  it('at 80 columns', () => {
    expect(draw(80, 10).map((line) => line.trimEnd())).toEqual([
      '5 buckets: 16,738 wait, 4 run, 1 full, 1 frozen, 1 paused         127.0.0.1:7077',
      'by fill, largest first',
      'key                          fill▼              waiting  state     oldest   next',
      'slow                         ██████████ 100%      20/20  full         25m      -',
      'twilio/acme/+15551234        ████████▋·  86%  4321/5000  waiting     5.0s   40ms',
      'shop/frozen                  █▎········  12%     12/100  frozen      5.0s    95s',
      'shop/paused                  ████······  40%     40/100  paused      5.0s      -',
      'big                          ▏·········  <1%   12k/3.0M  waiting     5.0s   40ms',
      '',
      'q quit  / prefix  f fill  s sort  r reverse  t families  ↑↓ scroll  Esc all',
    ])
  })

  it('at 40 columns', () => {
    expect(draw(40, 8).map((line) => line.trimEnd())).toEqual([
      '5 buckets: 16,738 wait, 4 run, 1 full, …',
      'by fill, largest first',
      'key         fill▼        waiting state',
      'slow        █████ 100%     20/20 full',
      'twili…51234 ████▍  86% 4321/5000 waiting',
      'shop/frozen ▋····  12%    12/100 frozen',
      'shop/paused ██···  40%    40/100 paused',
      'q quit  / prefix  f fill        1-4 of 5',
    ])
  })

  it('shows the rate and the running jobs where there is room', () => {
    const [, , header, , twilio] = draw(120, 10)
    expect(header).toMatch(/^key +fill▼ +waiting +state +oldest +next +rate +running *$/)
    expect(twilio).toMatch(/ 10\/s +1$/)
  })

  it('always has as many lines as the screen, none of them wider', () => {
    const typing = { ...FIRST_STATE, prefix: '東京'.repeat(40), before: '' }
    const hostile = { rows: [view('\u202e\u001b[2J東京'.repeat(9)), ...BUCKETS], total: 1_234_567 }
    for (const columns of [20, 21, 40, 59, 60, 79, 80, 100, 120, 250]) {
      for (const rows of [1, 3, 5, 24, 60]) {
        for (const state of [FIRST_STATE, typing]) {
          for (const errorText of [undefined, 'it does not answer '.repeat(20)]) {
            const lines = draw(columns, rows, { state, found: hostile, errorText })
            expect(lines).toHaveLength(rows)
            expect(Math.max(...lines.map(textWidth))).toBeLessThanOrEqual(columns)
          }
        }
      }
    }
  })

  it('shows hostile keys as what they are', () => {
    const text = draw(80, 6, { found: { rows: [view('\u202eevil\u001b[31m')], total: 1 } }).join('\n')
    expect(text).toContain('\\u{202e}evil\\u{1b}[31m ')
    expect(text).not.toContain('\u202e')
    expect(text).not.toContain('\u001b')
  })

  it('says what was chosen, and that nothing matches', () => {
    const state = { ...FIRST_STATE, prefix: 'a/', minFill: 0.8, sort: 'oldest' as const, isReversed: true }
    const lines = draw(80, 6, { state, found: { rows: [], total: 0 } })
    expect(lines[0]!.trimEnd()).toMatch(/^0 buckets +127/)
    expect(lines[1]).toBe('a/*  fill ≥ 80%  by oldest')
    expect(lines[2]).toContain('oldest▲')
    expect(lines[3]).toBe('no bucket matches')
    expect(draw(80, 6, { found: { rows: [], total: 0 } })[3]).toBe('no live buckets')
  })

  it('shows a prefix that is being typed', () => {
    const lines = draw(80, 6, { state: { ...FIRST_STATE, prefix: 'stri', before: '' } })
    expect([lines[1], lines.at(-1)!.trimEnd()]).toEqual([
      '/stri▏',
      'Enter keep  Esc back                                                    1-2 of 5',
    ])
  })

  it('shows what is scrolled to, and counts what was read', () => {
    const lines = draw(80, 6, {
      state: { ...FIRST_STATE, offset: 3 },
      found: { rows: BUCKETS, total: 900 },
    })
    expect(lines[0]).toMatch(/^900 buckets, of the first 5: 16,738 wait/)
    expect(lines[3]).toMatch(/^shop\/paused/)
    expect(lines.at(-1)).toMatch(/ {2}4-5 of 900$/)
    expect(rowsSeen({ columns: 80, rows: 6 })).toBe(2)
  })

  it('says where there may be more than were counted', () => {
    const lines = draw(80, 6, { found: { rows: BUCKETS, total: 1_000, isAtLeast: true } })
    expect(lines[0]).toMatch(/^1,000\+ buckets, of the first 5: /)
    expect(lines.at(-1)).toMatch(/ of 1,000\+$/)
  })

  it('shows an error in place of the hints', () => {
    expect(draw(80, 6, { errorText: '3.0s old: the service does not answer' }).at(-1)).toBe(
      '3.0s old: the service does not answer',
    )
  })
})

describe('cells', () => {
  it('draw fill in eighths: no bucket with a job looks empty, and none looks full that is not', () => {
    expect(fillBar(0, 4)).toEqual(['', '····'])
    expect(fillBar(0.000_1, 4)).toEqual(['▏', '···'])
    expect(fillBar(0.5, 4)).toEqual(['██', '··'])
    expect(fillBar(0.53, 4)).toEqual(['██▏', '·'])
    expect(fillBar(0.999_9, 4)).toEqual(['███▉', ''])
    expect(fillBar(1, 4)).toEqual(['████', ''])
    expect(fillBar(7, 4)).toEqual(['████', ''])
  })

  it.each([
    [0.4, '0ms'],
    [999.4, '999ms'],
    [999.6, '1.0s'],
    [9_949, '9.9s'],
    [9_951, '10s'],
    [99_600, '2m'],
    [5_969_000, '99m'],
    [5_971_000, '2h'],
    [400_000_000, '5d'],
  ])('write %d ms as %s', (ms, text) => {
    expect(shortTime(ms)).toBe(text)
  })

  it.each([
    [9_999, '9999'],
    [10_000, '10k'],
    [999_499, '999k'],
    [999_500, '1.0M'],
    [12_345_678, '12M'],
    [999_499_999, '999M'],
    [2_000_000_000, '2.0G'],
  ])('write %d as %s', (count, text) => {
    expect(shortCount(count)).toBe(text)
  })

  it('write shares as the page does, rounded down', () => {
    const hundredths = Array.from({ length: 301 }, (_, waiting) => waiting)
    expect(hundredths.map((waiting) => formatFill(waiting / 100))).toEqual(
      hundredths.map((waiting) => `${waiting}%`),
    )
    expect([0.001, 0.995, 0.99999, 1.019].map(formatFill)).toEqual(['<1%', '99%', '99%', '101%'])
  })

  it('count down by the clock of the line, where it has its own', () => {
    // Ours is a minute behind; theirs says 40 ms.
    const table = renderTopTable({ rows: [view('a'), view('b', { waitingSince: undefined })] }, AT - 60_000)
    expect(table).toMatch(/^a .* 40ms +10\/s$/m)
    expect(table).toMatch(/^b .* 60s +10\/s$/m)
  })
})

it('the table cuts nothing', () => {
  const key = 'k/'.repeat(100)
  const lines = plainText(renderTopTable({ rows: [view(key), view('\u202e')] }, AT)).split('\n')
  expect(lines[0]).toMatch(/^key +fill +waiting +running +state +oldest +next +rate$/)
  expect(lines[2]).toMatch(new RegExp(`^${key} {2}█████····· +50% +50/100 +1 +waiting +5\\.0s +40ms +10/s$`))
  expect(lines[3]).toMatch(/^\\u\{202e\} /)
})
