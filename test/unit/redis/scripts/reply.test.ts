import { expect, test } from 'vitest'
import { ForeignValueError } from '../../../../src/core/errors.ts'
import {
  flag,
  list,
  number,
  numberAndMore,
  oneOf,
  optional,
  packed,
  type Read,
  readReply,
  rest,
  row,
  text,
  word,
} from '../../../../src/redis/scripts/reply.ts'

const reply = list(
  oneOf({
    ok: { at: number, isLast: flag, jobs: rest(row({ id: text, epoch: number })) },
    each: { answers: rest(list(oneOf({ yes: { key: text }, no: {} }))) },
    maybe: { found: optional(list(row({ key: text }))) },
    late: {},
  }),
)

test.each([
  [['late'], { kind: 'late' }],
  [['ok', 5, '0'], { kind: 'ok', at: 5, isLast: false, jobs: [] }],
  [
    ['ok', '5.25', 1, 'a', 1, 'b', '2'],
    {
      kind: 'ok',
      at: 5.25,
      isLast: true,
      jobs: [
        { id: 'a', epoch: 1 },
        { id: 'b', epoch: 2 },
      ],
    },
  ],
  [['each', ['yes', 'k'], ['no']], { kind: 'each', answers: [{ kind: 'yes', key: 'k' }, { kind: 'no' }] }],
  [['maybe'], { kind: 'maybe', found: undefined }],
  [['maybe', ['k']], { kind: 'maybe', found: { key: 'k' } }],
])('reads %j into an object with names', (values, named) => {
  expect(readReply(reply, values)).toEqual(named)
})

test('reads single values', () => {
  expect(readReply(number, '-inf')).toBe(Number.NEGATIVE_INFINITY)
  expect(readReply(number, 'inf')).toBe(Number.POSITIVE_INFINITY)
  expect(readReply(number, '0.10000000000000001')).toBe(0.1)
  expect(readReply(word('end', 'at'), 'at')).toBe('at')
  expect(readReply(flag, '1')).toBe(true)
  expect(readReply(numberAndMore, 7)).toEqual({ value: 7 })
  expect(readReply(numberAndMore, '-1.5 tokens 40 2')).toEqual({ value: -1.5, more: 'tokens 40 2' })
})

test.each<[string, Read<unknown>, unknown, string]>([
  ['no list', reply, 'ok', 'expected a list, got: "ok" (string)'],
  ['an unknown kind', reply, ['other'], 'expected ok, each, maybe, late, got: "other" (string)'],
  ['too few values', reply, ['ok', 5], "expected '1' or '0', got: undefined"],
  ['half a group', reply, ['ok', 5, '1', 'a'], 'expected a number, got: undefined'],
  ['a value too many', reply, ['late', 1], 'expected a list of 1, got: an array of 2'],
  ['another text', word('end', 'at'), 'past', 'expected end, at, got: "past" (string)'],
  ['text for a number', number, '1x', 'expected a number, got: "1x" (string)'],
  ['nothing for a number', number, '', 'expected a number, got: "" (string)'],
  ['text before what follows a number', numberAndMore, 'x 1', 'expected a number, got: "x" (string)'],
  ['nothing for text', text, null, 'expected text, got: null'],
  ['a number for a flag', flag, 2, "expected '1' or '0', got: 2"],
])('refuses %s', (_, read, value, reason) => {
  expect(() => readReply(read, value)).toThrow(ForeignValueError)
  expect(() => readReply(read, value)).toThrow(reason)
})

test('reads packed numbers exactly', () => {
  const numbers = [0.1, -0, Number.POSITIVE_INFINITY, 2 ** 53 + 2, Number.MIN_VALUE]
  const reply = Buffer.from(Float64Array.from(numbers).buffer)
  expect(readReply(packed('a', 'b', 'c', 'd', 'e'), reply)).toEqual({
    a: 0.1,
    b: -0,
    c: Number.POSITIVE_INFINITY,
    d: 2 ** 53 + 2,
    e: Number.MIN_VALUE,
  })
  expect(readReply(packed('a'), reply.subarray(0, 8))).toEqual({ a: 0.1 })
})

test.each([
  ['text', '1234567812345678'],
  ['a list, as another version would', [1, '2.5']],
  ['nothing', null],
  ['too few', Buffer.alloc(8)],
  ['too many', Buffer.alloc(24)],
  ['a part of one', Buffer.alloc(15)],
  ['none', Buffer.alloc(0)],
])('refuses %s for two packed numbers', (_, reply) => {
  const read = packed('a', 'b')
  expect(() => readReply(read, reply)).toThrow(ForeignValueError)
  expect(() => readReply(read, reply)).toThrow('expected 2 packed numbers')
})
