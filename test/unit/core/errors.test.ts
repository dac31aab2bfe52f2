import { expect, test } from 'vitest'
import { describe as name, oneLine, quote } from '../../../src/core/describe.ts'
import * as known from '../../../src/core/errors.ts'
import * as handlers from '../../../src/core/handler-errors.ts'
import * as rules from '../../../src/core/rule-errors.ts'
import * as thrown from '../../../src/core/thrown.ts'
import * as turns from '../../../src/core/turn-errors.ts'

const errors = { ...known, ...handlers, ...rules, ...thrown, ...turns }
const { isVelvetRopeError } = errors
const REFUSAL = { key: 'k', reason: 'full', retryAfterMs: 5, waiting: 3, capacity: 3 } as const

const each: [known.VelvetRopeError, string, string, string][] = [
  [new errors.InvalidLimitError('m'), 'InvalidLimitError', 'invalid-limit', 'm'],
  [new errors.InvalidKeyError('m'), 'InvalidKeyError', 'invalid-key', 'm'],
  [
    new errors.DataTooLargeError(9, 8),
    'DataTooLargeError',
    'data-too-large',
    'expected data of at most 8 bytes as JSON (maxDataBytes), got: 9',
  ],
  [new errors.InvalidDataError('m'), 'InvalidDataError', 'invalid-data', 'm'],
  [new errors.InvalidOptionsError('m'), 'InvalidOptionsError', 'invalid-options', 'm'],
  [new errors.NoLimitError('k'), 'NoLimitError', 'no-limit', 'no limit applies to the key "k"'],
  [
    new errors.IdConflictError('i'),
    'IdConflictError',
    'id-conflict',
    'the id "i" is already used by a job with a different',
  ],
  [
    new errors.UnknownUnitError('k', 'u', ['t']),
    'UnknownUnitError',
    'unknown-unit',
    'no quota of the limit of the key "k" counts "u": known are t',
  ],
  [
    new errors.UnsettledError('k', 'u', 'no JSON'),
    'UnsettledError',
    'unsettled',
    'a turn of the key "k" keeps its estimate in u: no JSON',
  ],
  [new errors.BackendUnavailableError('m'), 'BackendUnavailableError', 'backend-unavailable', 'm'],
  [new errors.UnfitRedisError('m'), 'UnfitRedisError', 'unfit-redis', 'm'],
  [
    new errors.ShardCountError(2, 3, 7),
    'ShardCountError',
    'shard-count',
    'expected shards: 2, the number of this line, got: 3; 7 jobs of one shard have not ended; the number can change once no job waits or runs and all processes have been stopped for five seconds',
  ],
  [
    new errors.ShardCountError(3, 2),
    'ShardCountError',
    'shard-count',
    'expected shards: 3, the number of this line, got: 2; the number can change once no job waits or runs and all processes have been stopped for five seconds',
  ],
  [new errors.ForeignValueError('m'), 'ForeignValueError', 'foreign-value', 'm'],
  [
    new errors.UnknownZoneError('p', 'A/B', '2025b'),
    'UnknownZoneError',
    'unknown-zone',
    'the limit of "p" counts by the time zone "A/B", which another process knows and this one does not (it has the time zones of 2025b)',
  ],
  [
    new errors.UnknownZoneError('p', 'A/B', '2025b', 1),
    'UnknownZoneError',
    'unknown-zone',
    'the limit of "p" and of 1 more pattern counts by the time zone "A/B", which another process knows and this one does not (it has the time zones of 2025b)',
  ],
  [
    new errors.UnknownZoneError('p', 'A/B', '2025b', 2),
    'UnknownZoneError',
    'unknown-zone',
    'the limit of "p" and of 2 more patterns counts by the time zone "A/B", which another process knows and this one does not (it has the time zones of 2025b)',
  ],
  [new errors.OldRuleBookError('m'), 'OldRuleBookError', 'old-rule-book', 'm'],
  [
    new errors.RuleBookConflictError(7, 9),
    'RuleBookConflictError',
    'rule-book-conflict',
    'expected version 7 of the rule book to be in force, got: version 9; nothing was changed',
  ],
  [new errors.TooManyRulesError('m', 5), 'TooManyRulesError', 'too-many-rules', 'm'],
  [new errors.ShaperClosedError('s'), 'ShaperClosedError', 'closed', 'the shaper "s" is closed'],
  [new errors.MeterClosedError('m'), 'MeterClosedError', 'closed', 'the meter "m" is closed'],
  [new errors.LeaseLostError('i'), 'LeaseLostError', 'lease-lost', 'the lease of job "i" was lost'],
  [
    new errors.LeaseLostError('~i', true),
    'LeaseLostError',
    'lease-lost',
    'the lease of turn "~i" was lost before it was released',
  ],
  [
    new errors.StartedLateError('i', 1.5),
    'StartedLateError',
    'started-late',
    'job "i" was started 2 ms too late',
  ],
  [
    new errors.WorkerLostError('i'),
    'WorkerLostError',
    'worker-lost',
    'job "i" failed: each of its workers died',
  ],
  [
    new errors.HandlerTimeoutError('i', 50),
    'HandlerTimeoutError',
    'handler-timeout',
    '"i" did not settle within 50 ms',
  ],
  [
    new errors.NotAnErrorError('x'),
    'NotAnErrorError',
    'not-an-error',
    'threw "x" (string), expected an Error',
  ],
  [
    new errors.TurnRefusedError(REFUSAL),
    'TurnRefusedError',
    'turn-refused',
    'for the key "k" (full): 3 of 3 cost units wait, retry after 5 ms',
  ],
  [
    new errors.TurnTimeoutError('k', 50),
    'TurnTimeoutError',
    'turn-timeout',
    'the key "k" did not come within 50 ms',
  ],
  [new errors.TurnCancelledError('i'), 'TurnCancelledError', 'turn-cancelled', 'the turn "i" was cancelled'],
  [new errors.FreezeError({ forMs: 5 }), 'FreezeError', 'freeze', 'freeze the bucket for 5 ms'],
  [new errors.FinalError('m'), 'FinalError', 'final', 'm'],
  [
    new errors.InvalidInputError({ file: 'f.csv', line: 3, column: 7 }, 'm'),
    'InvalidInputError',
    'invalid-input',
    'f.csv:3:7: m',
  ],
]

test.each(each)('%s has its name, its code and its message', (error, className, code, message) => {
  expect(error).toBeInstanceOf(Error)
  expect(error.name).toBe(className)
  expect(error.code).toBe(code)
  expect(error.message).toContain(message)
  expect(isVelvetRopeError(error)).toBe(true)
  expect(isVelvetRopeError(error, code)).toBe(true)
  expect(isVelvetRopeError(error, 'other')).toBe(false)
})

test('every error class is in this test', () => {
  const classes = Object.values(errors).filter(
    (value) => typeof value === 'function' && value.prototype instanceof errors.VelvetRopeError,
  )
  expect(classes).toHaveLength(new Set(each.map(([, name]) => name)).size)
})

test('errors carry what they are about', () => {
  const cause = new Error('socket')
  expect(new errors.BackendUnavailableError('m', { cause }).cause).toBe(cause)
  expect(new errors.ForeignValueError('m', { cause }).cause).toBe(cause)
  expect(new errors.FinalError('m', { cause }).cause).toBe(cause)
  expect(new errors.NoLimitError('k').key).toBe('k')
  expect(new errors.IdConflictError('i').id).toBe('i')
  expect(new errors.HandlerTimeoutError('i', 50).timeoutMs).toBe(50)
  expect(new errors.NotAnErrorError(7).thrown).toBe(7)
  expect(new errors.FreezeError({ forMs: 5 }).forMs).toBe(5)
  expect(new errors.TurnRefusedError(REFUSAL)).toMatchObject(REFUSAL)
  expect(new errors.TurnTimeoutError('k', 50)).toMatchObject({ key: 'k', timeoutMs: 50 })
  expect(new errors.TurnCancelledError('i').id).toBe('i')
  expect(new errors.InvalidInputError({ file: 'f', line: 3, column: 7 }, 'm')).toMatchObject({
    file: 'f',
    line: 3,
    column: 7,
  })
})

test('a turn that can never come says so instead of a time', () => {
  const never = { ...REFUSAL, reason: 'too-costly', retryAfterMs: Number.POSITIVE_INFINITY } as const
  const whole = 'no turn for the key "k" (too-costly): it alone exceeds the whole'
  expect(new errors.TurnRefusedError(never).message).toBe(`${whole} capacity of 3 cost units, it never fits`)
  const ofTokens = new errors.TurnRefusedError({ ...never, quota: '90000 tokens/minute' })
  expect(ofTokens.message).toBe(`${whole} quota of 90000 tokens/minute, it never fits`)
  expect(ofTokens.quota).toBe('90000 tokens/minute')
  const full = new errors.TurnRefusedError({ ...REFUSAL, local: true })
  expect(full.message).toContain('(full): 3 of 3 cost units of a local limit are taken, retry after')
  const local = new errors.TurnRefusedError({ ...never, local: true })
  expect(local.message).toBe(`${whole} capacity of 3 cost units of a local limit, it never fits`)
})

test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, '5'])('a freeze for %j is rejected', (forMs) => {
  expect(() => new errors.FreezeError({ forMs: forMs as number })).toThrow(errors.InvalidOptionsError)
  expect(() => new errors.FreezeError({ forMs: forMs as number })).toThrow('expected forMs to be a number')
})

test('an error of another copy of the package is recognised by its name and code', () => {
  const copy = Object.assign(new Error('m'), { name: 'FreezeError', code: 'freeze' })
  expect(isVelvetRopeError(copy, 'freeze')).toBe(true)
  expect(isVelvetRopeError(Object.assign(new Error('m'), { code: 'ENOENT' }))).toBe(false)
  expect(isVelvetRopeError(Object.assign(new Error('m'), { code: 5 }))).toBe(false)
  expect(isVelvetRopeError(new Error('m'))).toBe(false)
  expect(isVelvetRopeError({ name: 'FreezeError', code: 'freeze' })).toBe(false)
})

test('quoted text is bounded, and its control characters are escaped', () => {
  expect(quote('plain')).toBe('"plain"')
  expect(quote('a"\n\u007f\u2028\u202e')).toBe('"a\\"\\n\\u007f\\u2028\\u202e"')
  expect(quote('x'.repeat(81))).toBe(`"${'x'.repeat(77)}..."`)
  expect(quote('x'.repeat(80))).toBe(`"${'x'.repeat(80)}"`)
})

test.each([
  ['text', '"text" (string)'],
  [5n, '5n (bigint)'],
  [-(2n ** 1_000n), 'a large bigint'],
  [null, 'null'],
  [-1.5, '-1.5'],
  [true, 'true'],
  [[1, 2], 'an array of 2'],
  [{}, 'an object'],
  [undefined, 'undefined'],
  [Symbol('s'), 'a symbol'],
  [() => 1, 'a function'],
])('a value is named without calling its code: case %#', (value, text) => {
  expect(name(value)).toBe(text)
})

test('foreign text becomes one line of bounded length, without control characters', () => {
  expect(oneLine(' a\r\nb\u202e\u001b[2Jc ')).toBe('a b [2Jc')
  expect(oneLine('x'.repeat(1_000))).toHaveLength(300)
})
