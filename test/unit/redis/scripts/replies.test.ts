import { expect, test } from 'vitest'
import { ForeignValueError } from '../../../../src/core/errors.ts'
import { unpackReply } from '../../../../src/redis/scripts/replies.ts'

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
