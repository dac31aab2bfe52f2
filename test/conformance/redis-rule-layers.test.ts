import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { ForeignValueError } from '../../src/core/errors.ts'
import { parseLayer } from '../../src/core/layered-book.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import { OldRuleBookError } from '../../src/core/rule-errors.ts'
import type { RuleChange } from '../../src/core/rule-layers.ts'
import type { BaseOrigin } from '../../src/core/rule-view.ts'
import { formatBook, parseBook } from '../../src/redis/rules/stored-book.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { at, msAt } from '../support/backend-driver.ts'
import { uniquePrefix } from '../support/redis-server.ts'
import { RedisStage } from './redis-stage.ts'

const rulesOf = (stage: RedisStage) =>
  stage.backend.rules.book
    .list()
    .map(({ pattern, limit, origin }) => `${pattern}=${limit.capacity} ${origin}`)

const set = (pattern: string, limit: string, by?: string): RuleChange => {
  return { kind: 'set', rule: parseRule(pattern, limit), by }
}
const load = (limits: Readonly<Record<string, string>>, origin: BaseOrigin): RuleChange => {
  return { kind: 'load', ...parseLayer(limits, origin) }
}

const digest = (limits: readonly (readonly [string, string])[]) =>
  createHash('sha1').update(JSON.stringify(limits)).digest('base64url')

describe('a program and a service with a file at one line', () => {
  test('each sets a layer of its own, and newer code leaves the file alone', async () => {
    const prefix = uniquePrefix()
    const code = await RedisStage.open({ '*': '9, 1/s', a: '8, 1/s' }, { prefix })
    const file = await RedisStage.open({ a: '7, 1/s', b: '6, 1/s' }, { prefix, limitsFrom: 'file' })
    const both = ['*=9 code', 'a=7 file', 'b=6 file']
    expect(rulesOf(file)).toEqual(both)
    await code.backend.follow()
    expect(rulesOf(code)).toEqual(both)
    const newer = await RedisStage.open({ '*': '5, 1/s', a: '4, 1/s' }, { prefix })
    expect(rulesOf(newer)).toEqual(['*=5 code', 'a=7 file', 'b=6 file'])
    // Neither of them is older for what the other set.
    await RedisStage.open({ a: '7, 1/s', b: '6, 1/s' }, { prefix, limitsFrom: 'file' })
    await expect(code.backend.open()).rejects.toThrow(OldRuleBookError)
    await expect(code.backend.open()).rejects.toThrow(/newer code \(.+Z\): version 3/)
  })

  test('a file that was replaced is reported, unless it is loaded, or a process starts with it', async () => {
    const prefix = uniquePrefix()
    const [first, second] = [{ '*': '9, 1/s' }, { '*': '8, 1/s', a: '7, 1/s' }]
    const stage = await RedisStage.open(first, { prefix, limitsFrom: 'file' })
    const before = stage.backend.rules.book
    const changed = await stage.backend.rules.change(load(second, 'file'), at(0))
    expect([changed.isChanged, changed.at, changed.before]).toEqual([true, at(0), before])
    const dump = await stage.dump()
    expect(await stage.backend.rules.change(load(second, 'file'), at(0))).toMatchObject({ isChanged: false })
    expect(await stage.dump()).toEqual(dump)
    const started = await RedisStage.open(first, { prefix, limitsFrom: 'file' })
    await expect(stage.backend.open()).rejects.toThrow('a newer file')
    await stage.backend.rules.change(load(second, 'file'), at(0))
    await expect(started.backend.open()).rejects.toThrow('a newer file')
    expect(rulesOf(started)).toEqual(['*=8 file', 'a=7 file'])
  })

  test('what was set by hand survives every load, in every process; reset puts the file in force', async () => {
    const prefix = uniquePrefix()
    const one = await RedisStage.open({ '*': '9, 1/s', a: '8, 1/s' }, { prefix, limitsFrom: 'file' })
    const two = await RedisStage.open({ '*': '9, 1/s', a: '8, 1/s' }, { prefix, limitsFrom: 'file' })
    await one.backend.rules.change(set('a', '1, 1/s', 'ann'), at(1))
    await two.backend.rules.change({ kind: 'unset', pattern: '*', by: 'bob' }, at(2))
    await one.backend.rules.change(load({ '*': '7, 1/s', a: '6, 1/s' }, 'file'), at(3))
    const overrides = [
      { ...parseRule('a', '1, 1/s'), by: 'ann', at: at(1) },
      { pattern: '*', limit: undefined, by: 'bob', at: at(2) },
    ]
    await two.backend.follow()
    const later = await RedisStage.open({ '*': '7, 1/s', a: '6, 1/s' }, { prefix, limitsFrom: 'file' })
    for (const { backend } of [one, two, later]) {
      expect(backend.rules.book.layers.overrides).toEqual(overrides)
      expect(backend.rules.book.list()).toEqual([{ ...overrides[0], origin: 'override' }])
    }
    await two.backend.rules.change({ kind: 'reset', pattern: 'a' }, at(4))
    await two.backend.rules.change({ kind: 'reset', pattern: '*' }, at(4))
    expect(rulesOf(two)).toEqual(['*=7 file', 'a=6 file'])
    expect(await two.backend.rules.change({ kind: 'reset', pattern: 'a' }, at(4))).toMatchObject({
      isChanged: false,
    })
  })

  test('a load spaces waiting jobs anew, counted from the last slot', async () => {
    const stage = await RedisStage.open('9, 1/s', { limitsFrom: 'file' })
    await stage.lineUp('xyz', 0)
    await stage.run(0)
    await stage.backend.rules.change(load({ '*': '9, 10/s' }, 'file'), at(0.05))
    expect(await stage.inspect('a', 0.05)).toMatchObject({ limit: '9, 10/s', nextDepartureAt: msAt(0.1) })
    expect(await stage.hand(0.099)).toEqual([])
    await stage.run(0.1)
    expect(await stage.hand(0.199)).toEqual([])
    await stage.run(0.2)
  })
})

describe('a book of the version before', () => {
  /** As it was written: a limit for `a` set by hand, `b` unset by hand, `c` set by hand and never of the code. */
  const OLD = {
    schema: 1,
    version: 7,
    rules: [
      ['*', '9, 1/s'],
      ['a', '3, 1/s'],
      ['c', '2, 1/s'],
    ],
    base: [
      ['*', '9, 1/s'],
      ['a', '8, 1/s'],
      ['b', '7, 1/s'],
    ],
    byHand: ['a', 'b', 'c', 'gone'],
    former: [digest([['*', '99, 1/s']])],
  }
  const CODE = Object.fromEntries(OLD.base)

  /** A line that the version before has left, with a job that waits. */
  async function oldLine(): Promise<string> {
    const prefix = uniquePrefix()
    const stage = await RedisStage.open(CODE, { prefix })
    await stage.lineUp('x', 0)
    await stage.redis.set(shardKey(stage.tag, 'book'), JSON.stringify(OLD))
    await stage.redis.hset(shardKey(stage.tag, 'meta'), 'book', OLD.version)
    return prefix
  }

  test('is read as it was meant, and left as it is until something changes', async () => {
    const prefix = await oldLine()
    const stage = await RedisStage.open(CODE, { prefix })
    expect(rulesOf(stage)).toEqual(['*=9 code', 'a=3 override', 'c=2 override'])
    expect(stage.backend.rules.book.layers.overrides).toEqual([
      parseRule('a', '3, 1/s'),
      { pattern: 'b', limit: undefined },
      parseRule('c', '2, 1/s'),
    ])
    expect(await stage.redis.get(shardKey(stage.tag, 'book'))).toBe(JSON.stringify(OLD))
    expect(await stage.backend.verbs.forecast('b', 1, at(0))).toMatchObject({ capacity: 9 })
    await stage.backend.rules.change({ kind: 'reset', pattern: 'b' }, at(0))
    expect(rulesOf(stage)).toEqual(['*=9 code', 'a=3 override', 'b=7 code', 'c=2 override'])
    const stored = JSON.parse((await stage.redis.get(shardKey(stage.tag, 'book')))!)
    expect(stored).toMatchObject({
      schema: 3,
      version: 8,
      layers: { file: [], environment: [] },
      former: { code: OLD.former, file: [], environment: [] },
    })
    const other = await RedisStage.open(CODE, { prefix })
    expect(rulesOf(other)).toEqual(rulesOf(stage))
  })

  test('gives way to a process that starts with others', async () => {
    const prefix = await oldLine()
    const newer = await RedisStage.open({ '*': '5, 1/s', a: '4, 1/s', b: '4, 1/s' }, { prefix })
    expect(rulesOf(newer)).toEqual(['*=5 code', 'a=3 override', 'c=2 override'])
    expect(rulesOf(await RedisStage.open(CODE, { prefix }))).toEqual([
      '*=9 code',
      'a=3 override',
      'c=2 override',
    ])
  })

  test('goes on with its line: waiting jobs depart', async () => {
    const stage = await RedisStage.open(CODE, { prefix: await oldLine() })
    expect((await stage.run(0)).id).toBe('x')
    await stage.balances()
  })
})

describe('a book of the version after that', () => {
  /** As it was written: a layer for code and one for a file, neither with an author; overrides as they are today. */
  const OLD = {
    schema: 2,
    version: 5,
    code: [
      ['*', '9, 1/s'],
      ['a', '8, 1/s'],
    ],
    file: [['b', '7, 1/s']],
    overrides: [{ pattern: 'a', limit: '3, 1/s', by: 'ann', at: at(0) }, { pattern: 'c' }],
    former: { code: [digest([['*', '99, 1/s']])], file: [digest([['b', '98, 1/s']])] },
  }
  const CODE = Object.fromEntries(OLD.code)

  async function oldLine(shards = 1): Promise<string> {
    const prefix = uniquePrefix()
    const stage = await RedisStage.open(CODE, { prefix, shards })
    for (const tag of stage.backend.store.tags) {
      await stage.redis.set(shardKey(tag, 'book'), JSON.stringify(OLD))
      await stage.redis.hset(shardKey(tag, 'meta'), 'book', OLD.version)
    }
    return prefix
  }

  test('is read as it was meant, and left as it is until something changes', async () => {
    const prefix = await oldLine()
    const stage = await RedisStage.open(CODE, { prefix, limitsBy: 'release 9' })
    const file = await RedisStage.open({ b: '7, 1/s' }, { prefix, limitsFrom: 'file', limitsBy: 'x.yaml' })
    for (const { backend } of [stage, file]) {
      expect(backend.rules.version).toBe(5)
      expect(backend.rules.book.list()).toEqual([
        { ...parseRule('*', '9, 1/s'), origin: 'code' },
        { ...parseRule('a', '3, 1/s'), origin: 'override', by: 'ann', at: at(0) },
        { ...parseRule('b', '7, 1/s'), origin: 'file' },
      ])
      expect(backend.rules.book.layers.overrides[1]).toEqual({ pattern: 'c', limit: undefined })
    }
    await stage.backend.follow()
    expect(await stage.redis.get(shardKey(stage.tag, 'book'))).toBe(JSON.stringify(OLD))

    await stage.backend.rules.change(set('d', '2, 1/s', 'bob'), at(1))
    await stage.backend.rules.change(
      { kind: 'load', ...parseLayer({ '*': '9, 1/s', e: '1, 1/s' }, 'code', 'r10') },
      at(2),
    )
    expect(JSON.parse((await stage.redis.get(shardKey(stage.tag, 'book')))!)).toMatchObject({
      schema: 3,
      version: 7,
      layers: {
        code: [
          { pattern: '*', limit: '9, 1/s' },
          { pattern: 'e', limit: '1, 1/s', by: 'r10', at: at(2) },
        ],
        file: [{ pattern: 'b', limit: '7, 1/s' }],
        environment: [],
      },
      former: { file: OLD.former.file, environment: [] },
    })
  })

  test('gives way to processes that start with others, layer by layer', async () => {
    const prefix = await oldLine(2)
    await RedisStage.open('99, 1/s', { prefix, shards: 2 })
    const file = await RedisStage.open({ b: '98, 1/s' }, { prefix, shards: 2, limitsFrom: 'file' })
    expect(rulesOf(file)).toEqual(['*=99 code', 'b=98 file', 'a=3 override'])
    const environment = { prefix, shards: 2, limitsFrom: 'environment' } as const
    const newest = await RedisStage.open({ '*': '99, 1/s' }, environment)
    expect(rulesOf(newest)).toEqual(['*=99 environment', 'b=98 file', 'a=3 override'])
  })
})

test('an environment that was replaced is reported like code and file', async () => {
  const prefix = uniquePrefix()
  const environment = { prefix, limitsFrom: 'environment' } as const
  const one = await RedisStage.open({ '*': '9, 1/s' }, { ...environment, limitsBy: 'one' })
  await RedisStage.open({ '*': '8, 1/s' }, { ...environment, limitsBy: 'two' })
  await expect(one.backend.open()).rejects.toThrow(/those of a newer environment \(two, .+Z\): version 2/)
})

test('a book is read as it was written', async () => {
  const stage = await RedisStage.open({ '*': '9, 1/s', a: '8, 7 per minute, tolerance 1ms' })
  await stage.backend.rules.change(load({ a: '3, 1/s' }, 'file'), at(0))
  await stage.backend.rules.change(load({ b: '3, 1/s' }, 'file'), at(0))
  await stage.backend.rules.change(load({ b: '3, 1/s' }, 'environment'), at(0))
  await stage.backend.rules.change(load({ '*': '7, 1/s' }, 'code'), at(0))
  await stage.backend.rules.change(set('a', '2, 1/s', 'ann "the boss"'), at(0.5))
  await stage.backend.rules.change({ kind: 'unset', pattern: '*' }, at(0))
  const text = (await stage.redis.get(shardKey(stage.tag, 'book')))!
  expect(formatBook(parseBook(text))).toBe(text)
  expect(parseBook(text).layers).toEqual(stage.backend.rules.book.layers)
})

test.each([
  ['not JSON', 'it is not JSON'],
  ['{"schema":4,"version":9}', 'schema'],
  ['{"schema":3,"version":9,"layers":{"code":[],"file":[]}}', 'environment'],
  ['{"schema":2,"version":9,"code":[],"file":[],"overrides":[]}', 'former'],
  [
    '{"schema":2,"version":9,"code":[["*","9"]],"file":[],"overrides":[],"former":{"code":[],"file":[]}}',
    'limit "*"',
  ],
])('a book that cannot be read (%s) is refused, and left as it is', async (text, reason) => {
  const prefix = uniquePrefix()
  const stage = await RedisStage.open('9, 1/s', { prefix })
  const name = shardKey(stage.tag, 'book')
  await stage.redis.set(name, text)
  const change = stage.backend.rules.change(set('a', '2, 1/s'), at(0))
  await expect(change).rejects.toThrow(ForeignValueError)
  await expect(change).rejects.toThrow(reason)
  await expect(RedisStage.open('9, 1/s', { prefix })).rejects.toThrow(ForeignValueError)
  expect(await stage.redis.get(name)).toBe(text)
})
