import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeData } from '../../../src/core/data.ts'
import { InvalidDataError } from '../../../src/core/errors.ts'

test('data that JSON can represent is encoded as JSON', () => {
  const property = fc.property(fc.jsonValue(), (value) => {
    expect(encodeData(value)).toBe(JSON.stringify(value))
  })
  fc.assert(property)
})

test('properties that are undefined are left out, and objects need no prototype', () => {
  expect(encodeData({ a: 1, b: undefined })).toBe('{"a":1}')
  expect(encodeData(Object.assign(Object.create(null), { a: [null, true, 'x'] }))).toBe(
    '{"a":[null,true,"x"]}',
  )
})

const circular: Record<string, unknown> = {}
circular['self'] = circular

class Parcel {}

test.each([
  [undefined, 'expected JSON data, got undefined at $'],
  [() => 1, 'got a function at $'],
  [Symbol('x'), 'got a symbol at $'],
  [10n, 'got 10n (bigint) at $'],
  [Number.NaN, 'got NaN at $'],
  [{ a: [1, { 'b c': Number.POSITIVE_INFINITY }] }, 'got Infinity at $["a"][1]["b c"]'],
  [[1, undefined], 'got undefined at $[1]'],
  [[new Date(0)], 'got a Date at $[0]'],
  [new Map(), 'got a Map at $'],
  [new Parcel(), 'got a Parcel at $'],
  [Object.create({}), 'got an object with toJSON at $'],
  [{ toJSON: () => 1 }, 'got an object with toJSON at $'],
  [Object.create(Object.create(null)), 'at $'],
  [circular, 'expected JSON data of at most 100 levels, got a deeper or circular one'],
])('data that JSON would lose or change is rejected: case %#', (data, message) => {
  expect(() => encodeData(data)).toThrow(InvalidDataError)
  expect(() => encodeData(data)).toThrow(
    expect.objectContaining({ code: 'invalid-data', message: expect.stringContaining(message) }),
  )
})

test('the message about a field with an endless name stays short', () => {
  const data = { ['x'.repeat(100_000)]: Array.from({ length: 90 }).reduce((inner) => [inner], 10n) }
  expect(() => encodeData(data)).toThrow(
    /^expected JSON data, got 10n \(bigint\) at \$\["x{77}\.\.\."\](?:\[0\])+\[?0?\.\.\.$/,
  )
})
