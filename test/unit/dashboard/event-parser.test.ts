import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EventParser } from '../../../src/dashboard/page/data/event-parser.ts'

const STREAM =
  '\uFEFFretry: 3000\n\n: here\n\nid: a-1\nevent: departure\ndata: {"id":"x"}\n\ndata: one\r\ndata: two\r\rdata\n\nevent: lost\n\ndata:  kept\nunknown: 1\n\n'
const EVENTS = [
  { type: 'departure', data: '{"id":"x"}', id: 'a-1' },
  { type: 'message', data: 'one\ntwo', id: 'a-1' },
  { type: 'message', data: '', id: 'a-1' },
  { type: 'message', data: ' kept', id: 'a-1' },
]

describe('a stream of events', () => {
  test('is read as the standard says', () => {
    const parser = new EventParser()
    expect(parser.push(STREAM)).toEqual(EVENTS)
    expect(parser.retryMs).toBe(3_000)
    expect(parser.lastId).toBe('a-1')
  })

  test('is the same wherever it is cut', () => {
    const cuts = fc.uniqueArray(fc.integer({ min: 0, max: STREAM.length }))
    fc.assert(
      fc.property(cuts, (places) => {
        const parser = new EventParser()
        const edges = [0, ...places.sort((one, other) => one - other), STREAM.length]
        const pieces = edges.slice(1).map((edge, index) => STREAM.slice(edges[index], edge))
        expect(pieces.flatMap((piece) => parser.push(piece))).toEqual(EVENTS)
      }),
    )
  })

  test('gives an event only when it is complete', () => {
    const parser = new EventParser()
    expect(parser.push('data: half')).toEqual([])
    expect(parser.push('\n')).toEqual([])
    expect(parser.push('\n')).toHaveLength(1)
  })

  test('with a line that never ends is refused', () => {
    const parser = new EventParser()
    const piece = 'x'.repeat(1024 * 1024)
    expect(() => {
      for (let count = 0; count < 20; count++) parser.push(piece)
    }).toThrow(/without end/)
  })
})
