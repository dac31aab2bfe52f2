import { describe, expect, it } from 'vitest'
import { formatSeconds, formatShare } from '../../../src/cli/numbers.ts'
import { Progress } from '../../../src/cli/progress.ts'
import { resample, spark } from '../../../src/cli/spark.ts'
import { renderFacts, renderTable } from '../../../src/cli/table.ts'
import { hasColour } from '../../../src/cli/terminal.ts'

const PINK = '\u001b[35m'
const PLAIN = '\u001b[39m'

describe('table', () => {
  it('lines up words on the left and numbers on the right, colours aside', () => {
    const table = renderTable(
      [{ title: 'policy' }, { title: 'starts', align: 'right' }],
      [
        ['rope', '7'],
        [`${PINK}meter${PLAIN}`, '1,234'],
      ],
    )
    expect(table.replaceAll(PINK, '').replaceAll(PLAIN, '').split('\n')).toEqual([
      'policy  starts',
      '──────  ──────',
      'rope         7',
      'meter    1,234',
    ])
  })

  it('lines up facts', () => {
    expect(
      renderFacts([
        ['a', '1'],
        ['long', '2'],
      ]),
    ).toBe('a     1\nlong  2')
  })
})

describe('spark', () => {
  it('draws eight heights, and something for anything above 0', () => {
    expect(spark([0, 1, 2, 3, 4, 5, 6, 7, 8], { width: 20 })).toBe(' ▁▂▃▄▅▆▇█')
    expect(spark([0, 0.001, 1000], { width: 20 })).toBe(' ▁█')
    expect(spark([1, 1], { width: 20, max: 2 })).toBe('▄▄')
    expect(spark([], { width: 20 })).toBe('')
    expect(spark([0, 0], { width: 20 })).toBe('  ')
  })

  it('keeps to its width by the mean of neighbours', () => {
    expect(resample([1, 3, 2, 2, 4], 3)).toEqual([2, 2, 2])
    expect(spark(new Array(1_000).fill(1), { width: 60 }).length).toBeLessThanOrEqual(60)
  })
})

describe('numbers', () => {
  it.each([
    [0.3333333, '0.333 s'],
    [72.06, '72.1 s'],
    [900, '15.0 min'],
    [147_658, '41.0 h'],
    [1e6, '11.6 days'],
  ])('writes %d seconds as %s', (seconds, text) => {
    expect(formatSeconds(seconds)).toBe(text)
  })

  it('has no share of nothing', () => {
    expect(formatShare(0, 0)).toBe('')
    expect(formatShare(1, 3)).toBe('33.3 %')
  })
})

describe('colour', () => {
  it('is for terminals only, and can be disabled', () => {
    expect(hasColour({ isTTY: true }, {})).toBe(true)
    expect(hasColour({ isTTY: true }, { NO_COLOR: '1' })).toBe(false)
    expect(hasColour({ isTTY: true }, { NO_COLOR: '' })).toBe(true)
    expect(hasColour({ isTTY: true }, { TERM: 'dumb' })).toBe(false)
    expect(hasColour({}, {})).toBe(false)
  })
})

describe('progress', () => {
  function watch(isTTY: boolean) {
    const written: string[] = []
    let now = 0
    const stream = { isTTY, write: (text: string) => written.push(text) } as unknown as NodeJS.WriteStream
    const progress = new Progress(stream, () => now)
    return {
      written,
      progress,
      at(seconds: number) {
        now = seconds * 1e6
        progress.update('working')
      },
    }
  }

  it('keeps quiet for two seconds, then rewrites one line of a terminal', () => {
    const { written, progress, at } = watch(true)
    for (const seconds of [0, 1, 1.9]) at(seconds)
    expect(written).toEqual([])
    for (const seconds of [2, 2.1, 3]) at(seconds)
    progress.done()
    expect(written).toEqual(['\rworking (2 s)\u001b[K', '\rworking (3 s)\u001b[K', '\r\u001b[K'])
  })

  it('writes whole lines, and few of them, into a log', () => {
    const { written, progress, at } = watch(false)
    for (const seconds of [1, 2, 3, 4, 7, 8]) at(seconds)
    progress.done()
    expect(written).toEqual(['working (2 s)\n', 'working (7 s)\n'])
  })
})
