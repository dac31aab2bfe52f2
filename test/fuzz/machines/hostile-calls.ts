import { deepStrictEqual, ok } from 'node:assert/strict'
import fc from 'fast-check'
import { type Limit, parseLimit } from '../../../src/core/limit.ts'
import { Shaper } from '../../../src/index.ts'
import type { Turn } from '../../../src/line/turn.ts'
import { VirtualClock } from '../../../src/testing.ts'
import { hostileFields, made, orHostile, TrapError } from '../hostile-values.ts'
import { machine } from '../machine.ts'
import { oddNumber } from '../odd-values.ts'
import { readLimit } from '../parts/limit-reading.ts'
import { limitText, oddLimit } from '../parts/odd-limits.ts'
import { settled } from '../refusals.ts'

const KEYS = ['a', 'b/x', 'b/y', 'tight', 'other']
const LIMITS = {
  '*': '20, 100/s',
  'b/*': '50, 20/s, 5 per 2 seconds, 900 tokens/minute 20 each, 2 at once',
  tight: '2, 1/s, 3/hour, 40 tokens per day in Europe/Berlin 20 each, 5 images/second 1 each',
}
const key = orHostile(fc.constantFrom(...KEYS), 12)
const pattern = orHostile(fc.constantFrom(...KEYS, 'b/*', '*', '*/x', 'new', 'new/*'), 12)
const number = orHostile(fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 1, max: 50 }) }, oddNumber))
const id = orHostile(fc.constantFrom('j1', 'j2', 'j3'), 12)
const costs = orHostile(
  fc.oneof(
    hostileFields({ tokens: number, images: number, Tokens: number }),
    fc.constantFrom<unknown>(
      {},
      { tokens: 20 },
      { tokens: 901 },
      { images: 1, tokens: 1 },
      { per: 1 },
      { 'a b': 1 },
    ),
  ),
)
const request = {
  id,
  cost: number,
  costs,
  deadlineMs: number,
  attempts: number,
  backoff: orHostile(
    hostileFields({ type: orHostile(fc.constant('fixed')), delayMs: number, jitter: number }),
  ),
  timeoutMs: number,
  traceparent: orHostile(fc.constant(`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`)),
}
const options = (fields: Readonly<Record<string, fc.Arbitrary<unknown>>>) =>
  orHostile(hostileFields(fields), 12)
const turn = {
  cost: number,
  costs,
  holdMs: number,
  timeoutMs: number,
  signal: orHostile(fc.constant(undefined)),
}
const origin = orHostile(fc.constantFrom('code', 'file', 'environment'))
const hand = { ifVersion: number, by: orHostile(fc.constant('shop')), atMost: number }
const limit = fc.oneof(limitText, oddLimit)
const change = fc.oneof(
  fc.tuple(pattern, limit).map((set) => ({ set })),
  fc.record({ unset: pattern }),
  fc.record({ reset: pattern }),
  options({ set: orHostile(fc.array(limit, { maxLength: 3 })), unset: pattern, reset: pattern }),
)

const shaperCall = <Name extends string>(name: Name, ...args: fc.Arbitrary<unknown>[]) =>
  fc.record({ on: fc.constant('shaper' as const), name: fc.constant(name), args: fc.tuple(...args) })
const bookCall = <Name extends string>(name: Name, ...args: fc.Arbitrary<unknown>[]) =>
  fc.record({ on: fc.constant('limits' as const), name: fc.constant(name), args: fc.tuple(...args) })

/** A method and its arguments, as a caller in JavaScript may pass them. */
const call = fc.oneof(
  { weight: 6, arbitrary: shaperCall('enqueue', key, orHostile(fc.constant(null)), options(request)) },
  {
    weight: 4,
    arbitrary: shaperCall(
      'enqueueMany',
      orHostile(fc.array(options({ key, data: orHostile(fc.constant(1)), ...request }), { maxLength: 4 })),
    ),
  },
  { weight: 4, arbitrary: shaperCall('acquire', key, options(turn)) },
  {
    weight: 4,
    arbitrary: shaperCall('tryAcquire', key, options({ cost: number, costs, holdMs: number })),
  },
  { weight: 3, arbitrary: shaperCall('forecast', key, orHostile(hostileFields({ cost: number, costs }))) },
  { weight: 3, arbitrary: shaperCall('settle', id, costs, options({ key, fence: number, attempt: number })) },
  shaperCall('cancel', id, options({ key })),
  shaperCall('explain', id, options({ key })),
  shaperCall('job', id, options({ key })),
  shaperCall('line', key, options({ limit: number })),
  shaperCall('tally', orHostile(fc.array(orHostile(fc.array(key, { maxLength: 2 })), { maxLength: 2 }), 2)),
  shaperCall('wrap', orHostile(fc.constant(() => 1)), options({ key, ...turn })),
  shaperCall(
    'work',
    orHostile(fc.constant(() => 1)),
    options({ concurrency: number, leaseMs: number, scheduler: number }),
  ),
  shaperCall(
    'on',
    orHostile(fc.constantFrom('rejected', 'admitted')),
    orHostile(fc.constant(() => undefined)),
  ),
  shaperCall(
    'off',
    orHostile(fc.constantFrom('rejected', 'admitted')),
    orHostile(fc.constant(() => undefined)),
  ),
  shaperCall('freeze', key, number, options({ atMostMs: number })),
  { weight: 4, arbitrary: bookCall('set', pattern, limit, options(hand)) },
  { weight: 2, arbitrary: bookCall('set', pattern, limit) },
  { weight: 4, arbitrary: bookCall('preview', change) },
  bookCall('preview', change, orHostile(fc.constant(() => true))),
  { weight: 2, arbitrary: bookCall('unset', pattern, options(hand)) },
  { weight: 2, arbitrary: bookCall('reset', pattern, options({ ifVersion: number })) },
  {
    weight: 2,
    arbitrary: bookCall(
      'load',
      orHostile(fc.dictionary(fc.constantFrom(...KEYS, '*'), limit, { maxKeys: 2 })),
      options({ origin, by: orHostile(fc.constant('shop')), ifVersion: number }),
    ),
  },
  {
    weight: 2,
    arbitrary: bookCall(
      'setLocal',
      pattern,
      limit,
      options({ by: orHostile(fc.constant('x')), atMost: number }),
    ),
  },
  bookCall('unsetLocal', pattern),
  bookCall('resolve', key),
  bookCall('get', pattern),
  {
    weight: 6,
    arbitrary: fc.record({
      on: fc.constant('turn' as const),
      name: fc.constantFrom('settle', 'release'),
      args: fc.tuple(costs),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      on: fc.constant('time' as const),
      ms: fc.constantFrom(1, 10, 500, 3_000, 60_000),
    }),
  },
)
type Call = typeof call extends fc.Arbitrary<infer Value> ? Value : never
type Named = Exclude<Call, { on: 'time' }>

/** The answers that may come later, and where a line may be left when they do. */
class Line {
  readonly clock = new VirtualClock(1_700_000_000e6)
  readonly shaper = new Shaper('fuzz', { limits: LIMITS, clock: this.clock })
  readonly #pending = new Set<Promise<unknown>>()
  readonly #turns: Turn[] = []

  constructor() {
    this.shaper.on('error', () => undefined)
    this.shaper.work(() => this.clock.sleep(300_000))
  }

  /** All that can be seen of the book and of the keys. */
  async #state(): Promise<unknown> {
    const { limits } = this.shaper
    return [
      await this.shaper.audit(),
      await Promise.all(KEYS.map((key) => this.shaper.inspect(key))),
      [limits.version, limits.list(), limits.overrides(), limits.locals()],
    ]
  }

  async take(call: Call): Promise<void> {
    if (call.on === 'time') return this.clock.advance(call.ms * 1_000)
    // What is due now departs first.
    await this.clock.advance(0)
    const before = await this.#state()
    const answer = this.#answered(call)
    this.#pending.add(answer)
    void answer.finally(() => this.#pending.delete(answer)).catch(() => undefined)
    const outcome = await Promise.race([
      answer,
      new Promise<'later'>((resolve) => setImmediate(resolve, 'later')),
    ])
    if (outcome === 'refused' || outcome === 'trapped' || call.name === 'preview')
      deepStrictEqual(await this.#state(), before)
    const { admitted, waiting, handed, running, retrying, ended } = await this.shaper.audit()
    ok(admitted === waiting + handed + running + retrying + ended, 'the audit does not balance')
    ok(!('polluted' in {}) && Object.keys(Object.prototype).length === 0)
  }

  async #answered(call: Named): Promise<'value' | 'refused' | 'trapped'> {
    try {
      const outcome = await settled(async () => this.#invoke(call, made(call.args) as unknown[]))
      if (outcome.kind === 'value') this.#check(call, outcome.value)
      return outcome.kind
    } catch (error) {
      if (error instanceof TrapError) return 'trapped'
      throw error
    }
  }

  #invoke({ on, name }: Named, args: unknown[]): unknown {
    const target = on === 'shaper' ? this.shaper : on === 'limits' ? this.shaper.limits : this.#turns.at(-1)
    if (target === undefined) return undefined
    const method: unknown = Reflect.get(target, name)
    if (typeof method !== 'function') throw new Error(`there is no method ${name}`)
    return Reflect.apply(method, target, args)
  }

  /** Looks at what was accepted. */
  #check({ name, args }: Named, value: unknown): void {
    if (name === 'acquire' || name === 'tryAcquire') {
      if ((value as Turn).accepted) this.#turns.push(value as Turn)
      if (this.#turns.length > 3) void this.#turns.shift()?.release()
    } else if (name === 'set') {
      const view = value as { pattern: string; limit: string }
      deepStrictEqual(this.shaper.limits.get(view.pattern), view)
      deepStrictEqual(readLimit(view.limit), readLimit(made((args as unknown[])[1])))
    } else if (name === 'on') Reflect.apply(this.shaper.off, this.shaper, made(args) as unknown[])
    else if (name === 'work') void (value as { close(): Promise<void> }).close()
    for (const { limit } of this.shaper.limits.list()) ok(parsed(limit))
  }

  /** All answers come now at the latest. */
  async close(): Promise<void> {
    const closed = this.shaper.close()
    await this.clock.advance(60e6)
    await Promise.all([closed, ...this.#pending])
  }
}

const known = new Map<string, Limit>()
function parsed(text: string): Limit {
  if (known.size > 5_000) known.clear()
  const limit = known.get(text) ?? parseLimit(text)
  known.set(text, limit)
  return limit
}

/**
 * Calls of a shaper whose keys have limits of several parts, with values that no type allows: they are answered, or refused by name,
 * and then everything is as before.
 */
export const hostileCalls = machine({
  name: 'hostile calls under several limits',
  inputs: call,
  few: 1_000,
  share: 12,
  open: async () => {
    const line = new Line()
    const give = async (given: Call) => {
      await line.take(given)
      return 1
    }
    return { give, close: () => line.close() }
  },
})
