import { expect, test } from 'vitest'
import { z } from 'zod'
import { InvalidOptionsError } from '../../../src/core/errors.ts'
import { nearest, parseOptions, placeOf, recordOf } from '../../../src/core/options.ts'

const schema = z.strictObject({
  attempts: z.int().min(1).default(1),
  backoff: z.strictObject({ delayMs: z.number().min(0) }).optional(),
})

test('options are parsed once, with defaults, and frozen', () => {
  const options = parseOptions(schema, { backoff: { delayMs: 5 } }, 'enqueue')
  expect(options).toEqual({ attempts: 1, backoff: { delayMs: 5 } })
  expect(Object.isFrozen(options)).toBe(true)
})

test.each([
  [{ atempts: 2 }, 'enqueue: unknown option "atempts": did you mean attempts?'],
  [{ zzzzzzzzzzzz: 2 }, 'enqueue: unknown option "zzzzzzzzzzzz": known are attempts, backoff'],
  [
    { backoff: { delayMs: 1, delay: 1 } },
    'enqueue: unknown option "delay" in backoff: did you mean delayMs?',
  ],
  [{ attempts: 0 }, /^enqueue: expected attempts to be a number, at least 1, got: 0$/],
  [{ attempts: Number.NaN }, 'got: NaN'],
  [{ backoff: { delayMs: '5' } }, /expected backoff\.delayMs to be .+, got: "5" \(string\)/],
  [{ backoff: {} }, /expected backoff\.delayMs to be .+, got: undefined/],
  [5, /expected the options to be .+, got: 5/],
  [null, /expected the options to be .+, got: null/],
])('rejects %j with a clear error', (input, message) => {
  const read = () => parseOptions(schema, input, 'enqueue')
  expect(read).toThrow(InvalidOptionsError)
  expect(read).toThrow(message)
  expect(read).toThrow(expect.objectContaining({ code: 'invalid-options' }))
})

test('the nearest word is suggested when it is near', () => {
  const known = ['attempts', 'backoff', 'keepFinished']
  expect(nearest('Attempt', known)).toBe('attempts')
  expect(nearest('keepfinish', known)).toBe('keepFinished')
  expect(nearest('elephant', known)).toBeUndefined()
  expect(nearest('x', [])).toBeUndefined()
})

test('a very long unknown option, or one where no option is known, gets no suggestion', () => {
  const schema = z.strictObject({
    attempts: z.number().optional(),
    list: z.array(z.strictObject({ a: z.number() })),
  })
  const long = 'attempts'.repeat(10)
  expect(() => parseOptions(schema, { list: [], [long]: 1 }, 'call')).toThrow('known are attempts, list')
  expect(() => parseOptions(schema, { list: [{ a: 1, b: 2 }] }, 'call')).toThrow(
    'call: unknown option "b" in list.0: known are none',
  )
})

test('of several forms, the error is about the one that fits best', () => {
  const schema = z.strictObject({
    when: z.union([z.number(), z.strictObject({ at: z.number() }), z.string()]),
  })
  expect(() => parseOptions(schema, { when: { at: 'x' } }, 'call')).toThrow('expected when.at to be a number')
  expect(() => parseOptions(schema, { when: { at: 1, att: 2 } }, 'call')).toThrow('in when: did you mean at?')
  expect(() => parseOptions(schema, { when: null }, 'call')).toThrow(
    'expected when to be a number, got: null',
  )
})

test.each([
  ['delayMs', 'backoff.delayMs'],
  ['attempts', undefined],
  ['nothing', undefined],
])('the place of %j below the top is %j', (name, place) => {
  expect(placeOf(name, schema)).toBe(place)
})

test('a schema without fields has no place for any', () => {
  expect(placeOf('delayMs', z.string())).toBeUndefined()
})

test('a name that a record may not have is quoted', () => {
  const named = z.strictObject({
    costs: z.record(
      z.string().refine((name) => name === 'a', 'a letter'),
      z.number(),
    ),
  })
  expect(() => parseOptions(named, { costs: { a: 1, b: 1 } }, 'call')).toThrow(
    'call: expected each name in costs to be a letter, got: "b"',
  )
})

test('a symbol is named, as a name that a record may not have and on the way to what is wrong', () => {
  const named = z.strictObject({ costs: recordOf(z.string(), z.number()) })
  expect(() => parseOptions(named, { costs: { [Symbol('a')]: 1 } }, 'call')).toThrow(
    /^call: expected each name in costs to be .*, got: a symbol$/,
  )
  const record = z.strictObject({ costs: z.record(z.symbol(), z.number()) })
  expect(() => parseOptions(record, { costs: { [Symbol('a')]: '1' } }, 'call')).toThrow(
    'call: expected costs.Symbol(a) to be a number, got: "1" (string)',
  )
})

test('a record refuses the name that zod skips, beside others and alone, and reads all else as zod does', () => {
  const named = z.strictObject({ costs: recordOf(z.string(), z.number(), 'a record of numbers').optional() })
  for (const text of ['{"__proto__": 1}', '{"a": 1, "__proto__": {"b": 2}}']) {
    expect(() => parseOptions(named, { costs: JSON.parse(text) }, 'call')).toThrow(
      'call: expected each name in costs to be another name, got: "__proto__" (string)',
    )
  }
  expect(parseOptions(named, { costs: { a: 1, proto: 2 } }, 'call')).toEqual({ costs: { a: 1, proto: 2 } })
  expect(parseOptions(named, {}, 'call')).toEqual({})
  expect(() => parseOptions(named, { costs: { a: '1' } }, 'call')).toThrow('expected costs.a to be a number')
  for (const costs of [null, 5, 'a', [1]]) {
    expect(() => parseOptions(named, { costs }, 'call')).toThrow('expected costs to be a record of numbers')
  }
})
