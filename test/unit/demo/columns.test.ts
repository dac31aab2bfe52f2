import { describe, expect, it } from 'vitest'
import { countColumns, spreadColumns } from '../../../src/demo/columns.ts'

describe('columns', () => {
  it('count the times in each slice', () => {
    const slices = { from: 100, width: 10, count: 3 }
    expect(countColumns([99, 100, 109, 110, 129, 130], slices)).toEqual([2, 1, 1])
  })

  it('are flat for calls that keep their interval, whatever their width', () => {
    const even = [0, 25, 50, 75]
    const columns = spreadColumns(even, 25, { from: 0, width: 10, count: 10 })
    for (const value of columns) expect(value).toBeCloseTo(0.4)
  })

  it('pile up for calls that do not', () => {
    expect(spreadColumns([0, 0, 5], 10, { from: 0, width: 10, count: 2 })).toEqual([2.5, 0.5])
    expect(spreadColumns([-5], 10, { from: 0, width: 10, count: 1 })).toEqual([0.5])
  })
})
