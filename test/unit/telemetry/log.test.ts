import { describe, expect, test } from 'vitest'
import { InvalidOptionsError } from '../../../src/index.ts'
import { createLog, type LogOptions } from '../../../src/telemetry/log.ts'
import { LogLines } from './log-lines.ts'

test('a line is JSON: level, time, process, message, and the fields', () => {
  const kept = new LogLines({ fields: { service: 'velvet-rope' } })
  kept.log.info('connected', { redis: '7.0.15', shards: 2, ok: true, nothing: null })
  expect(kept.line).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    pid: process.pid,
    service: 'velvet-rope',
    redis: '7.0.15',
    shards: 2,
    ok: true,
    nothing: null,
    message: 'connected',
  })
})

describe('the level', () => {
  test.each([
    ['debug', ['debug', 'info', 'warn', 'error']],
    ['info', ['info', 'warn', 'error']],
    ['warn', ['warn', 'error']],
    ['error', ['error']],
    ['silent', []],
  ] as const)('%s writes %o', (level, written) => {
    const kept = new LogLines({ level })
    const levels = ['debug', 'info', 'warn', 'error'] as const
    for (const each of levels) kept.log[each]('m')
    expect(kept.lines.map((line) => line['level'])).toEqual(written)
    expect(levels.filter((each) => kept.log.isEnabled(each))).toEqual(written)
  })

  test('can be changed, also for derived logs', () => {
    const kept = new LogLines()
    const child = kept.log.with({ part: 'a' })
    child.debug('not heard')
    kept.log.level = 'debug'
    child.debug('heard')
    expect(kept.lines).toMatchObject([{ level: 'debug', part: 'a', message: 'heard' }])
    expect(child.level).toBe('debug')
  })

  test('that is unknown is rejected, and the old one stays', () => {
    const { log } = new LogLines({ level: 'warn' })
    expect(() => {
      log.level = 'loud' as 'warn'
    }).toThrow(InvalidOptionsError)
    expect(log.level).toBe('warn')
  })

  test('is checked before the fields are read', () => {
    const kept = new LogLines()
    kept.log.debug('m', {
      get never() {
        throw new Error('looked at')
      },
    })
    expect(kept.written).toEqual([])
  })
})

test.each([
  [{ level: 'loud' }, 'level'],
  [{ levle: 'info' }, 'did you mean level?'],
  [{ fields: 7 }, 'fields'],
])('options %o are rejected', (options, message) => {
  expect(() => createLog(options as LogOptions)).toThrow(InvalidOptionsError)
  expect(() => createLog(options as LogOptions)).toThrow(message)
})

test('fields of a derived log are in each of its lines, and not in those of its parent', () => {
  const kept = new LogLines({ fields: { service: 's' } })
  kept.log.with({ a: 1 }).with({ b: 2 }).info('m', { c: 3 })
  kept.log.info('n')
  expect(kept.lines).toMatchObject([{ service: 's', a: 1, b: 2, c: 3 }, { service: 's' }])
  expect(kept.lines[1]).not.toHaveProperty('a')
})

describe('no text can forge a line', () => {
  const forged = 'x\r\n{"level":"error","message":"forged"}\n'

  test.each([
    ['a message', (kept: LogLines) => kept.log.info(forged)],
    ['a value', (kept: LogLines) => kept.log.info('m', { key: forged })],
    ['a nested value', (kept: LogLines) => kept.log.info('m', { a: [{ b: forged }] })],
    ['the name of a field', (kept: LogLines) => kept.log.info('m', { [forged]: 1 })],
    ['an error', (kept: LogLines) => kept.log.info('m', { error: new Error(forged) })],
    ['a field of all lines', (kept: LogLines) => kept.log.with({ key: forged }).info('m')],
  ])('with %s', (_, write) => {
    const kept = new LogLines()
    write(kept)
    expect(kept.line).toMatchObject({ level: 'info' })
    expect(kept.written[0]).not.toContain('\r')
  })

  test('with fields named like those of the line', () => {
    const kept = new LogLines({ fields: { pid: 1 } })
    kept.log.with({ time: 'never' }).info('m', { level: 'error', message: 'n' })
    const own = { level: 'info', pid: process.pid, message: 'm' }
    const others = { level_: 'error', pid_: 1, message_: 'n', time_: 'never' }
    expect(kept.line).toMatchObject({ ...own, ...others })
    for (const name of Object.keys(own)) expect(kept.written[0]!.split(`"${name}":`)).toHaveLength(2)
  })

  test('with other line separators, or characters that reverse the text', () => {
    const kept = new LogLines()
    kept.log.info('a\u2028b\u0085c\u009bd\u202ee', { 'f\u2029': 'g\u2066' })
    expect(kept.written[0]).not.toMatch(/[\u0080-\u009f\u2028\u2029\u202e\u2066]/)
    expect(kept.line).toMatchObject({ message: 'a\ufffdb\ufffdc\ufffdd\ufffde', 'f\ufffd': 'g\ufffd' })
  })

  test('with a message that looks like a format', () => {
    const kept = new LogLines()
    kept.log.info('100 %s %d %j %%', { a: 1 })
    expect(kept.line).toMatchObject({ message: '100 %s %d %j %%', a: 1 })
  })
})
