import { deepStrictEqual, ok } from 'node:assert/strict'
import fc from 'fast-check'
import { MILLISECOND } from '../../../src/core/duration.ts'
import { Shaper } from '../../../src/index.ts'
import { VirtualClock } from '../../../src/testing.ts'
import { machine } from '../machine.ts'
import { oddNumber, oddText, oddValue, orOdd, someFields } from '../odd-values.ts'
import { settled } from '../refusals.ts'

const key = orOdd(fc.constantFrom('a', 'b/x', 'b/y', 'tight', '__proto__', 'constructor/prototype'))
const id = orOdd(fc.constantFrom('j1', 'j2', 'j3', '__proto__'))
const backoff = someFields({
  type: orOdd(fc.constantFrom('fixed', 'exponential')),
  delayMs: oddNumber,
  maxDelayMs: oddNumber,
  jitter: oddNumber,
})
const enqueueOptions = someFields({
  id,
  cost: orOdd(oddNumber),
  deadlineMs: orOdd(oddNumber),
  attempts: orOdd(oddNumber),
  backoff: orOdd(backoff),
  timeoutMs: orOdd(oddNumber),
  traceparent: orOdd(
    fc.constantFrom(`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`),
  ),
})
const request = someFields({ key, data: oddValue, id, cost: oddNumber, deadlineMs: oddNumber })
const query = someFields({
  prefix: orOdd(fc.constantFrom('a', 'b', 'b/')),
  pattern: orOdd(fc.constantFrom('*')),
  minFill: oddNumber,
  maxFill: oddNumber,
  state: orOdd(fc.constantFrom('idle', 'waiting', 'full', 'frozen', 'paused')),
  minOldestWaitMs: oddNumber,
  sort: orOdd(fc.constantFrom('fill', '-fill', 'key', '-waiting', 'oldestWaitMs')),
  limit: oddNumber,
  cursor: orOdd(fc.constantFrom('WyItZmlsbCIsMSwiYSIsMCwwXQ')),
})
const limit = orOdd(fc.constantFrom('5, 1/s', '1, 1/d', '1_000, 100/s'))

/** Arguments of a method, as text and values that a caller in JavaScript may pass. */
const call = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(fc.constant('enqueue' as const), key, oddValue, orOdd(enqueueOptions, 8)),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(
      fc.constant('enqueueMany' as const),
      orOdd(fc.array(orOdd(request), { maxLength: 4 })),
    ),
  },
  { weight: 2, arbitrary: fc.tuple(fc.constant('forecast' as const), key, orOdd(oddNumber)) },
  {
    weight: 2,
    arbitrary: fc.tuple(
      fc.constant('tryAcquire' as const),
      key,
      orOdd(someFields({ cost: orOdd(oddNumber) })),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constantFrom('cancel' as const, 'job' as const, 'explain' as const), id),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(
      fc.constantFrom(
        'inspect' as const,
        'unfreeze' as const,
        'pause' as const,
        'resume' as const,
        'recent' as const,
      ),
      key,
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constant('line' as const), key, orOdd(someFields({ limit: oddNumber }))),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(
      fc.constant('freeze' as const),
      key,
      orOdd(oddNumber),
      orOdd(someFields({ atMostMs: oddNumber })),
    ),
  },
  { weight: 2, arbitrary: fc.tuple(fc.constant('buckets' as const), orOdd(query, 8)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('set' as const), key, limit) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('unset' as const), key) },
)
type Call = typeof call extends fc.Arbitrary<infer Value> ? Value : never

/** Calls a method with arguments that its types may not allow. */
function invoke(shaper: Shaper, [name, ...args]: Call): Promise<unknown> {
  const target: object = name === 'set' || name === 'unset' ? shaper.limits : shaper
  const method: unknown = Reflect.get(target, name)
  if (typeof method !== 'function') throw new Error(`a shaper has no method ${name}`)
  return Promise.resolve(Reflect.apply(method, target, args))
}

/** The methods of a shaper in memory: a call is answered, or refused by name and has changed nothing. */
export const options = machine({
  name: 'options of a shaper',
  inputs: call,
  few: 4_000,
  share: 14,
  open: async () => {
    const limits = { '*': '20, 100/s', tight: '1, 1/s' }
    const clock = new VirtualClock()
    const shaper = new Shaper('fuzz', { limits, clock })
    const state = async () => [await shaper.audit(), shaper.limits.list()]
    const give = async (given: Call) => {
      const before = await state()
      const answer = settled(async () => invoke(shaper, given))
      let isAnswered = false
      void answer.finally(() => (isAnswered = true)).catch(() => undefined)
      await new Promise((resolve) => setImmediate(resolve))
      // A turn that is less than a microsecond away is accepted, and waits for its slot.
      if (!isAnswered) await clock.advance(MILLISECOND)
      const outcome = await answer
      const after = await state()
      if (outcome.kind === 'refused') deepStrictEqual(after, before)
      const { admitted, waiting, handed, running, retrying, ended } = await shaper.audit()
      ok(admitted === waiting + handed + running + retrying + ended, 'the audit does not balance')
      ok(Object.getPrototypeOf({}) === Object.prototype && !('polluted' in {}))
      return 1
    }
    return { give, close: () => shaper.close() }
  },
})

/** Ids and keys of any text reach no other entry. */
export const ownNames = machine({
  name: 'names in memory',
  inputs: fc.tuple(oddText, oddText),
  few: 1_000,
  share: 4,
  open: async () => {
    const give = async ([one, other]: [string, string]) => {
      const shaper = new Shaper('fuzz', { limits: { '*': '5, 1/s' }, clock: new VirtualClock() })
      const known: string[] = []
      for (const name of new Set([one, other])) {
        const outcome = await settled(() => shaper.enqueue(name, name), 'invalid-key')
        if (outcome.kind === 'value') known.push(name)
      }
      const { buckets } = await shaper.buckets({ sort: 'key' })
      deepStrictEqual(new Set(buckets.map((view) => view.key)), new Set(known))
      for (const name of known) deepStrictEqual((await shaper.inspect(name))?.jobs, 1)
      await shaper.close()
      return 1
    }
    return { give, close: async () => undefined }
  },
})
