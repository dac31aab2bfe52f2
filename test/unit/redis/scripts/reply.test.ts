import { expect, test } from 'vitest'
import { ForeignValueError } from '../../../../src/core/errors.ts'
import {
  flag,
  list,
  number,
  oneOf,
  optional,
  type Read,
  readReply,
  rest,
  row,
  text,
  unpackReply,
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
  ['nothing for text', text, null, 'expected text, got: null'],
  ['a number for a flag', flag, 2, "expected '1' or '0', got: 2"],
])('refuses %s', (_, read, value, reason) => {
  expect(() => readReply(read, value)).toThrow(ForeignValueError)
  expect(() => readReply(read, value)).toThrow(reason)
})

test('numbers that a script has packed come as they are', () => {
  const numbers = [0.1, -0, Number.POSITIVE_INFINITY, 2 ** 53 + 2, Number.MIN_VALUE]
  const reply = Buffer.from(Float64Array.from(numbers).buffer)
  expect(unpackReply(reply, [1, 5])).toEqual(numbers)
  expect(unpackReply(reply.subarray(0, 8), [1, 5])).toEqual([0.1])
})

test.each([
  ['a text', '12345678'],
  ['a list, as another version would', [1, '2.5']],
  ['nothing', null],
  ['too few', Buffer.alloc(24)],
  ['a part of one', Buffer.alloc(39)],
  ['none', Buffer.alloc(0)],
])('%s is refused', (_, reply) => {
  expect(() => unpackReply(reply, [1, 5])).toThrow(ForeignValueError)
  expect(() => unpackReply(reply, [1, 5])).toThrow('expected 1 or 5 packed numbers')
})
