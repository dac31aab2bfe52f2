import { describe, expect, it } from 'vitest'
import { readKeys } from '../../../src/cli/keyboard.ts'
import {
  clampOffset,
  FIRST_STATE,
  press,
  queryOf,
  SORT_COLUMNS,
  type TopState,
} from '../../../src/cli/top/state.ts'

const ROWS = { total: 100, seen: 10 }

/** What keys make of a state, as a terminal sends them. */
const after = (text: string, state: TopState = FIRST_STATE, rows = ROWS) =>
  readKeys(text).reduce((now, key) => press(now, key, rows), state)

describe('keys of top', () => {
  it('sort by the next column and by the one before, and reverse', () => {
    const columns = SORT_COLUMNS.map((_, count) => after('s'.repeat(count)).sort)
    expect(columns).toEqual(SORT_COLUMNS)
    expect(after('s'.repeat(SORT_COLUMNS.length)).sort).toBe('fill')
    expect([after('S').sort, after('sS').sort]).toEqual(['key', 'fill'])
    expect(queryOf(after(''))).toMatchObject({ sort: '-fill' })
    expect(queryOf(after('r'))).toMatchObject({ sort: 'fill' })
    expect(queryOf(after('ss'))).toMatchObject({ sort: '-oldestWaitMs' })
    // The natural order of names is from a to z.
    expect(queryOf(after('S'))).toMatchObject({ sort: 'key' })
    expect(queryOf(after('Sr'))).toMatchObject({ sort: '-key' })
  })

  it('filter by fill in steps, also from a step of its own', () => {
    expect(['f', 'ff', 'fff', 'ffff'].map((keys) => after(keys).minFill)).toEqual([0.5, 0.8, 1, 0])
    expect(after('f', { ...FIRST_STATE, minFill: 0.3 }).minFill).toBe(0.5)
  })

  it('filter by prefix while it is typed; q is then a letter', () => {
    expect(after('/sq')).toMatchObject({ prefix: 'sq', before: '' })
    expect(after('/sq\u007f\u007ftwilio/é\r')).toMatchObject({ prefix: 'twilio/é', before: undefined })
    expect(after('/ab\u0015c')).toMatchObject({ prefix: 'c' })
    expect(queryOf(after('/strip'))).toMatchObject({ prefix: 'strip' })
  })

  it('take back what was typed by Escape, and every filter by Escape once more', () => {
    const kept = after('/stripe\rf')
    expect(after('/xyz\u001b', kept)).toMatchObject({ prefix: 'stripe', before: undefined })
    expect(after('\u001b', kept)).toMatchObject({ prefix: '', minFill: 0 })
  })

  it('cannot type a prefix that no key could have', () => {
    const long = after(`/${'é'.repeat(200)}`)
    expect(Buffer.byteLength(long.prefix)).toBe(256)
  })

  it('scroll, within what there is, and start again from the top when the rows change', () => {
    expect(after('\u001b[B\u001b[B\u001b[A').offset).toBe(1)
    expect(after('\u001b[A').offset).toBe(0)
    expect(after('\u001b[6~').offset).toBe(9)
    expect(after('\u001b[F').offset).toBe(90)
    expect(after('\u001b[F\u001b[B').offset).toBe(90)
    expect(after('\u001b[F\u001b[H').offset).toBe(0)
    expect(after('\u001b[Fs').offset).toBe(0)
    expect(after('\u001b[B', FIRST_STATE, { total: 3, seen: 10 }).offset).toBe(0)
    expect(after('\u001b[B', after('/a')).offset).toBe(1)
  })

  it('do not scroll through a million buckets', () => {
    expect(after('\u001b[F', FIRST_STATE, { total: 1_000_000, seen: 20 }).offset).toBe(4_980)
  })

  it('leave', () => {
    expect([after('q').leaving, after('Q').leaving, after('/a\u0003').leaving]).toEqual([
      'quit',
      'quit',
      'interrupt',
    ])
  })

  it('that mean nothing change nothing', () => {
    expect(after('x9 ')).toEqual(FIRST_STATE)
  })
})

it('fewer rows, or a higher screen, pull the view back', () => {
  const state = { ...FIRST_STATE, offset: 50 }
  expect(clampOffset(state, ROWS)).toBe(state)
  expect(clampOffset(state, { total: 55, seen: 10 }).offset).toBe(45)
  expect(clampOffset(state, { total: 5, seen: 10 }).offset).toBe(0)
})
