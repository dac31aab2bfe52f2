import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { parseLayer } from '../../src/core/layered-book.ts'
import { parseRule } from '../../src/core/rule-book.ts'
import type { RuleChange } from '../../src/core/rule-layers.ts'
import { Shaper } from '../../src/index.ts'
import { RedisRules } from '../../src/redis/rules/redis-rules.ts'
import { parseBook } from '../../src/redis/rules/stored-book.ts'
import { shardKey } from '../../src/redis/scripts/keys.ts'
import { Store } from '../../src/redis/scripts/store.ts'
import { at, msAt, request } from '../support/backend-driver.ts'
import { eventually } from '../support/patience.ts'
import { connect } from '../support/redis-driver.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'
import { RedisStage } from './redis-stage.ts'

/** Longer than another process may be ahead without an error. */
const LONG_AFTER = 10

const set = (pattern: string, limit: string, ifVersion?: number): RuleChange => {
  return { kind: 'set', rule: parseRule(pattern, limit), ifVersion }
}

async function bookOf({ redis, tag }: RedisStage) {
  return parseBook((await redis.get(shardKey(tag, 'book')))!)
}

describe('of many changes with the same ifVersion exactly one succeeds', () => {
  /** What they all do, so alike that the books differ only in their authors. */
  const CHANGES: Readonly<Record<string, RuleChange>> = {
    set: set('a', '5, 1/s'),
    unset: { kind: 'unset', pattern: 'z' },
    reset: { kind: 'reset', pattern: 'z' },
    load: { kind: 'load', ...parseLayer({ '*': '1, 1/s' }, 'file', 'limits.yaml') },
  }

  test.each(Object.entries(CHANGES))('when they race: %s', async (_, change) => {
    const prefix = uniquePrefix()
    // Connections of their own, so that their commands mix in Redis.
    const stages = await Promise.all(
      Array.from({ length: 6 }, () =>
        RedisStage.open('9, 1/s', { prefix, connection: connect(redisAddress()) }),
      ),
    )
    await stages[0]!.backend.rules.change(set('z', '3, 1/s'), at(0))
    for (const ifVersion of [2, 3]) {
      const changes = stages.map(({ backend }) => backend.rules.change({ ...change, ifVersion }, at(1)))
      const outcomes = await Promise.allSettled(changes)
      const lost = outcomes.filter(({ status }) => status === 'rejected')
      if (ifVersion === 2) {
        expect(lost).toHaveLength(5)
        for (const outcome of lost) {
          expect(outcome).toMatchObject({ reason: { code: 'rule-book-conflict', expected: 2, version: 3 } })
        }
      } else {
        // Done already, or the same again: nothing changes, and nothing conflicts.
        expect(outcomes.map((outcome) => outcome.status === 'fulfilled' && outcome.value.isChanged)).toEqual(
          Array.from({ length: 6 }, () => false),
        )
      }
    }
    expect((await bookOf(stages[0]!)).version).toBe(3)
  })

  test('also for a process that does not know the newest version yet: what is in Redis counts', async () => {
    const prefix = uniquePrefix()
    const one = await RedisStage.open('9, 1/s', { prefix })
    const two = await RedisStage.open('9, 1/s', { prefix })
    await one.backend.rules.change(set('a', '5, 1/s'), at(0))
    expect(two.backend.rules.version).toBe(1)
    const late = two.backend.rules.change(set('a', '6, 1/s', 1), at(0))
    await expect(late).rejects.toMatchObject({ code: 'rule-book-conflict', version: 2 })
    // And the process that got the conflict knows it.
    expect(two.backend.rules.version).toBe(2)
    await two.backend.rules.change(set('a', '6, 1/s', 2), at(0))
    expect((await bookOf(one)).version).toBe(3)
  })
})

test('a change whose answer was lost while others followed is not reported as a conflict', async () => {
  /** Asks a second time, as after a lost answer, when the book has changed meanwhile. */
  class LossyStore extends Store {
    between: (() => Promise<unknown>) | undefined

    override async write<Reply>(...call: Parameters<typeof Store.prototype.write<Reply>>): Promise<Reply> {
      const { between } = this
      this.between = undefined
      const answer = await super.write(...call)
      if (call[0].verb !== 'book' || between === undefined) return answer
      await between()
      return super.write(...call)
    }
  }
  const other = await RedisStage.open('9, 1/s')
  const connection = connect(redisAddress())
  await connection.ready()
  const store = new LossyStore(connection, other.backend.store.tags, 'test')
  const rules = new RedisRules(
    store,
    parseLayer({ '*': '9, 1/s' }),
    { assertRoom: () => undefined },
    async () => undefined,
  )
  await rules.open()
  store.between = () => other.backend.rules.change(set('b', '6, 1/s'), at(0))
  const changed = await rules.change(set('a', '5, 1/s', 1))
  expect([changed.isChanged, changed.after.version, changed.after.get('b')]).toEqual([true, 2, undefined])
  expect((await bookOf(other)).version).toBe(3)
  expect(rules.book.list().map(({ pattern }) => pattern)).toEqual(['*', 'a', 'b'])
})

describe('an answer on its way while this process learns of another limit says what held by the limit that it was asked by', () => {
  const SET = '9, 10/s, 2/minute'
  const OTHERS = { 'has no quota': '9, 10/s', 'has another quota': '9, 10/s, 7/hour' }

  /** Two jobs of `a` fill its quota. The next answer of the verb comes late. */
  async function lateAnswer(verb: string, pattern: string, other: string): Promise<RedisStage> {
    const stage = await RedisStage.open({ a: SET, 'f/': SET, 'f/*': '9, 10/s' })
    const { rules, store } = stage.backend
    await stage.lineUp('12', 0, { key: 'a' })
    const run = store.run.bind(store)
    let isLate = true
    const spy = vi.spyOn(store, 'run').mockImplementation(async (script, ...rest) => {
      const reply = await run(script, ...rest)
      if (!isLate || script.verb !== verb) return reply
      isLate = false
      await rules.change(set(pattern, other), at(1))
      return reply
    })
    onTestFinished(() => spy.mockRestore())
    return stage
  }

  test.each(Object.entries(OTHERS))('that %s: what holds a job', async (_, other) => {
    const { backend } = await lateAnswer('forecast', 'a', other)
    const forecast = await backend.verbs.forecast('a', 1, at(1))
    expect(backend.rules.version).toBe(2)
    const detail = expect.stringContaining('waits for the quota of 2/minute: needs 1, 0 left')
    expect(forecast).toMatchObject({
      accepted: true,
      heldBy: { reason: 'quota', quota: '2/minute', detail },
    })
  })

  test.each(Object.entries(OTHERS))('that %s: which quota a job alone exceeds', async (_, other) => {
    for (const [key, pattern] of [
      ['a', 'a'],
      ['f/b', 'f/'],
    ] as const) {
      const exceeds = { accepted: false, reason: 'too-costly', quota: '2/minute' }
      const asked = await lateAnswer('forecast', pattern, other)
      expect(await asked.backend.verbs.forecast(key, 3, at(1))).toMatchObject(exceeds)
      const refused = await lateAnswer('admit', pattern, other)
      expect((await refused.admit('x', 1, { key, cost: 3 })).admission).toMatchObject(exceeds)
    }
  })
})

describe('processes with different limits for one layer', () => {
  test('change the book at most once for each start, and the one that started last is in force', async () => {
    const prefix = uniquePrefix()
    const [old, fresh] = ['9, 1/s', '8, 1/s']
    const open = async (limit: string) => {
      const errors: string[] = []
      const replaced: object[] = []
      const shaper = new Shaper('test', { limits: { '*': limit }, connection: redisAddress(), prefix })
      onTestFinished(() => shaper.close())
      shaper.on('error', (error) => void errors.push(error.message))
      shaper.on('limitsReplaced', (event) => void replaced.push(event))
      await shaper.ready()
      return { shaper, errors, replaced }
    }
    const first = await open(old)
    const second = await open(fresh)
    await eventually(() => expect(second.replaced).toHaveLength(1))
    expect(second.replaced).toEqual([
      {
        at: expect.any(Number),
        origin: 'code',
        by: expect.stringMatching(/.+:\d+/),
        since: expect.any(Number),
        limits: [{ pattern: '*', before: old, after: fresh }],
      },
    ])
    const back = await open(old)
    expect(back.shaper.limits.resolve('a').limit).toBe(old)
    // Those that run side by side put nothing back: the one whose limits were replaced emits an error, and that is all.
    await eventually(() => expect(second.errors).toHaveLength(1))
    expect(second.errors[0]).toMatch(
      /^the limits of this process were replaced by those of newer code \(.+:\d+, 2.+Z\): version 3 /,
    )
    for (const { shaper } of [first, second, back]) {
      expect([shaper.limits.version, shaper.limits.resolve('a').limit]).toEqual([3, old])
    }
    expect([first.replaced, back.replaced.length]).toEqual([[], 1])
  })

  test('learn once for each time that theirs were replaced, by which process and when', async () => {
    const prefix = uniquePrefix()
    const stage = (limits: Record<string, string>, by: string) =>
      RedisStage.open(limits, { prefix, limitsFrom: 'file', limitsBy: by })
    const one = await stage({ '*': '9, 1/s', a: '8, 1/s' }, 'one.yaml')
    const two = await stage({ '*': '9, 1/s' }, 'two.yaml')
    const follow = async (seconds: number) =>
      (await one.backend.follow(at(seconds))).map(({ message }) => message)
    expect([await follow(0), await follow(1)]).toEqual([[], []])
    // All that is left are limits of `one`, but `two` removed the other.
    expect(await follow(LONG_AFTER)).toEqual([
      expect.stringMatching(/were replaced by those of a newer file \(two\.yaml, .+Z\): version 2 of/),
    ])
    expect([await follow(LONG_AFTER + 1), await two.backend.follow(at(99))]).toEqual([[], []])
    const load = (stage: RedisStage, limits: Record<string, string>) =>
      stage.backend.rules.change({ kind: 'load', ...parseLayer(limits, 'file', 'ops') }, at(20))
    await load(one, { '*': '9, 1/s', a: '8, 1/s' })
    expect(await follow(20)).toEqual([])
    expect(await two.backend.follow(at(100))).toEqual([])
    expect(await two.backend.follow(at(120))).toMatchObject([{ code: 'old-rule-book', message: /\(ops, / }])
    await load(two, { '*': '1, 1/s' })
    expect(await follow(30)).toEqual([])
    expect(await follow(30 + LONG_AFTER)).toEqual([expect.stringContaining('a newer file (ops, ')])
    expect((await bookOf(one)).version).toBe(4)
  })

  test('are not notified of what they set themselves a moment later, nor of what is set by hand', async () => {
    const prefix = uniquePrefix()
    const [one, two] = [
      await RedisStage.open('9, 1/s', { prefix, limitsFrom: 'file' }),
      await RedisStage.open('9, 1/s', { prefix, limitsFrom: 'file' }),
    ]
    const change = parseLayer({ '*': '7, 1/s' }, 'file')
    await one.backend.rules.change({ kind: 'load', ...change }, at(0))
    expect(await two.backend.follow(at(0))).toEqual([])
    expect(await two.backend.rules.change({ kind: 'load', ...change }, at(1))).toMatchObject({
      isChanged: false,
    })
    await one.backend.rules.change(set('*', '1, 1/s'), at(2))
    await one.backend.rules.change({ kind: 'load', ...parseLayer({ '*': '3, 1/s' }) }, at(2))
    for (const seconds of [3, 50, 100]) {
      expect(await one.backend.follow(at(seconds))).toEqual([])
      expect(await two.backend.follow(at(seconds))).toEqual([])
    }
  })

  test('a process without limits of its own is never notified, and one that was puts nothing back when it reconnects', async () => {
    const prefix = uniquePrefix()
    const one = await RedisStage.open('9, 1/s', { prefix })
    const silent = await RedisStage.open({}, { prefix })
    const load = (limit: string) =>
      silent.backend.rules.change({ kind: 'load', ...parseLayer({ '*': limit }) }, at(0))
    await load('1, 1/s')
    await silent.backend.rules.change({ kind: 'load', ...parseLayer({}) }, at(0))
    await one.backend.follow(at(0))
    expect(await one.backend.follow(at(LONG_AFTER))).toHaveLength(1)
    // So many others that the version is forgotten.
    for (let n = 100; n < 205; n++) await load(`${n}, 1/s`)
    await silent.backend.rules.change({ kind: 'load', ...parseLayer({}) }, at(0))
    const { version } = await bookOf(one)
    await one.backend.open()
    expect([(await bookOf(one)).version, one.backend.rules.book.list()]).toEqual([version, []])
    await silent.backend.follow(at(0))
    expect(await silent.backend.follow(at(LONG_AFTER))).toEqual([])
  })
})

test('a change reaches 10,000 live buckets, and spaces the waiting jobs of each anew', async () => {
  const stage = await RedisStage.open({ '*': '9, 1/s', 'k/1/*': '9, 1/s' })
  const jobs = Array.from({ length: 20_000 }, (_, n) =>
    request(`j${n}`, { key: `k/${n % 10}/${n % 10_000}` }),
  )
  for (let from = 0; from < jobs.length; from += 2_000) {
    await stage.backend.verbs.admitMany(jobs.slice(from, from + 2_000), at(0))
  }
  await stage.backend.rules.change(set('*', '9, 1/m'), at(0))
  const buckets = new Map<string, string>()
  for await (const page of stage.views.survey()) {
    for (const { key, pattern, limit } of page) buckets.set(key, `${pattern} ${limit}`)
  }
  expect(buckets.size).toBe(10_000)
  for (const [key, rule] of buckets) expect(rule).toBe(key.startsWith('k/1/') ? 'k/1/* 9, 1/s' : '* 9, 1/m')
  const departsIn = async (key: string) => {
    const admission = await stage.backend.verbs.forecast(key, 1, at(0))
    return admission.accepted && admission.departsAt - msAt(0)
  }
  expect([await departsIn('k/2/9992'), await departsIn('k/1/9991')]).toEqual([120_000, 2_000])
})
