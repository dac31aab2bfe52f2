import { expect, test } from 'vitest'
import { plainText } from '../../../src/cli/display-text.ts'
import { partsText } from '../../../src/cli/top/parts-text.ts'
import { renderTop } from '../../../src/cli/top/screen.ts'
import { FIRST_STATE } from '../../../src/cli/top/state.ts'
import { renderTopTable } from '../../../src/cli/top/table.ts'
import type { Hold } from '../../../src/core/hold.ts'
import { AT, view } from './top-views.ts'

const BUCKETS = [
  view('openai/gpt', {
    limit: '100, 10/s, 2000/day, 90000 tokens/minute 1200 each, 50 at once',
    quotas: [
      { quota: '2000/day', used: 1_400, amount: 2_000 },
      { quota: '90000 tokens/minute', used: 90_000, amount: 90_000, roomAt: AT + 720_000 },
    ],
    places: { taken: 3, of: 50 },
  }),
  view('twilio/acme'),
]

test('a table shows places as n of N, and quotas as bars, first the one that has no room until later', () => {
  const lines = plainText(renderTopTable({ rows: BUCKETS }, AT)).split('\n')
  expect(lines[0]).toMatch(/rate {2}quotas and places$/)
  expect(lines[2]).toContain(
    '10/s  3 of 50 at once  █████ 90k of 90000 tokens/minute in 12m  ███▌· 1400 of 2000/day',
  )
  expect(lines[3]!.endsWith('10/s')).toBe(true)
  // Without such limits the table is as it was.
  expect(renderTopTable({ rows: BUCKETS.slice(1) }, AT)).not.toContain('quotas')
})

test('the screen shows them where there is room, cut to the width', () => {
  const draw = (columns: number) =>
    renderTop(
      { state: FIRST_STATE, found: { rows: BUCKETS, total: 2 }, place: '', now: AT },
      { columns, rows: 8 },
    ).map((line) => plainText(line))
  expect(draw(140)[2]).toContain('parts')
  expect(draw(140)[3]).toContain('3 of 50 at once  █')
  expect(draw(80)[2]).not.toContain('parts')
  for (const columns of [80, 140]) {
    for (const line of draw(columns)) expect(line.length).toBeLessThanOrEqual(columns)
  }
})

test('a quota that has room for another job, but not for what the next one counts, says when it has, and comes first', () => {
  const quotas = [
    { quota: '2000/day', used: 1_400, amount: 2_000 },
    { quota: '90000 tokens/minute', used: 50_000, amount: 90_000 },
  ]
  const heldBy = { reason: 'quota', until: AT + 40_000, quota: '90000 tokens/minute', detail: '' } as const
  expect(partsText(view('openai/gpt', { quotas, heldBy }), AT)).toBe(
    '██▊·· 50k of 90000 tokens/minute in 40s  ███▌· 1400 of 2000/day',
  )
  const bySlot: Hold = { reason: 'slot', until: AT + 40_000, detail: '' }
  expect(partsText(view('openai/gpt', { quotas, heldBy: bySlot }), AT)).not.toContain(' in ')
})

test('where another job has to wait, too, the later of both times is shown', () => {
  const quotas = [{ quota: '2000/day', used: 2_000, amount: 2_000, roomAt: AT + 60_000 }]
  const shown = (until: number) =>
    partsText(view('a', { quotas, heldBy: { reason: 'quota', until, quota: '2000/day', detail: '' } }), AT)
  expect(shown(AT + 60_000)).toMatch(/in 60s$/)
  expect(shown(AT + 90_000)).toMatch(/in 90s$/)
})
