import fc from 'fast-check'
import type { Delivery, Ending, LineTrace } from './line-trace.ts'

const MS = 1_000
const LIMITS = [
  '9, 10/s',
  '5, 2/s',
  '20, 40/s',
  '6, 1/s',
  '9, 100/s',
  '9, 10/s, warm-up 2s',
  '20, 40/s, warm-up 900ms from 8/s',
  '9, 10/s, tolerance 0',
  '9, 10/s, 6/second',
  '20, 40/s, 7 per 2 seconds, 3 at once',
  '9, 10/s, 50 tokens/second 10 each, 1 at once',
]

/** The limit of all keys. */
export const limit = fc.constantFrom(...LIMITS)
const which = fc.nat(1_000)
const worker = fc.constantFrom('w1', 'w2')
const caller = fc.nat(1)
const cost = fc.constantFrom(1, 1, 1, 2, 3)
const patience = fc.option(fc.nat(2_000 * MS), { nil: undefined, freq: 2 })
/** Of five answers one is lost. */
const isHeard = fc.constantFrom(true, true, true, true, false)
const upTo = (ms: number) => fc.integer({ min: 1, max: ms * MS })

const giveBack = fc.record({
  do: fc.constant('giveBack' as const),
  which,
  delay: fc.oneof(fc.constant(0), upTo(300)),
})
const ending: fc.Arbitrary<Ending> = fc.oneof(
  { weight: 2, arbitrary: fc.constant({ kind: 'completed', result: undefined } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: 'failed', error: 'as planned' } as const) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('retry' as const),
      error: fc.constant('as planned'),
      delay: fc.nat(900 * MS),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('freeze' as const), duration: upTo(800) }) },
)

const verbOf = (key: fc.Arbitrary<string>) =>
  fc.oneof(
    {
      weight: 14,
      arbitrary: fc.record({ do: fc.constant('admit' as const), key, cost, patience }),
    },
    {
      weight: 12,
      arbitrary: fc.record({
        do: fc.constant('acquire' as const),
        key,
        cost,
        // Now or never, after a while, or as long as it takes.
        patience: fc.oneof(fc.constant(0), patience),
        caller,
      }),
    },
    { weight: 8, arbitrary: fc.record({ do: fc.constant('renewPlaces' as const), caller }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('leave' as const), which }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('kill' as const), caller }) },
    {
      weight: 18,
      arbitrary: fc.record({
        do: fc.constant('claim' as const),
        lookAhead: fc.constantFrom(0, 50 * MS, 100 * MS, 250 * MS),
        most: fc.constantFrom(1, 3, 200),
        // To one worker, to both, or to none.
        fates: fc.array(fc.constantFrom(0, 0, 0, 1, 1, 1, 2, 3), { minLength: 1, maxLength: 4 }),
      }),
    },
    { weight: 20, arbitrary: fc.record({ do: fc.constant('gate' as const), which, isHeard }) },
    {
      weight: 16,
      arbitrary: fc.record({
        do: fc.constant('start' as const),
        which,
        isHeard,
        isTold: fc.boolean(),
        /** How late, after the slot; absent: whatever the time is. */
        late: fc.option(fc.constantFrom(0, 500, MS, 5 * MS, 6 * MS, 12 * MS), { nil: undefined, freq: 3 }),
      }),
    },
    { weight: 6, arbitrary: fc.record({ do: fc.constant('tellStart' as const), which }) },
    { weight: 8, arbitrary: fc.record({ do: fc.constant('finish' as const), which, isHeard, ending }) },
    { weight: 3, arbitrary: giveBack },
    { weight: 8, arbitrary: fc.record({ do: fc.constant('renew' as const), worker }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('expire' as const, 'recover' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('freeze' as const), key, duration: upTo(900) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('unfreeze' as const), key }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('pause' as const), key }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('resume' as const), key }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), which }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('setLimit' as const), limit }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
  )
type Verb = ReturnType<typeof verbOf> extends fc.Arbitrary<infer Value> ? Value : never

const lapse = fc.oneof(
  { weight: 4, arbitrary: upTo(5) },
  { weight: 6, arbitrary: upTo(60) },
  { weight: 1, arbitrary: upTo(700) },
)

/** What happens on a line with these keys, one after the other. */
export const stepsOn = (...keys: readonly string[]) =>
  fc.array(fc.record({ lapse, verb: verbOf(fc.constantFrom(...keys)) }), {
    minLength: 40,
    maxLength: 140,
    size: 'max',
  })

export const steps = stepsOn('a', 'a', 'a', 'b')

/** One of the deliveries to which it can happen. */
const pick = (deliveries: readonly Delivery[], index: number) => deliveries[index % deliveries.length]

/** Lets it happen. */
export async function perform(trace: LineTrace, verb: Verb): Promise<void> {
  switch (verb.do) {
    case 'admit':
      return trace.admit(verb.key, verb.cost, verb.patience)
    case 'acquire':
      return trace.admit(verb.key, verb.cost, verb.patience, verb.caller)
    case 'renewPlaces':
      return trace.renewPlaces(verb.caller)
    case 'leave':
      return trace.leave(verb.which)
    case 'kill':
      return trace.kill(verb.caller)
    case 'claim':
      await trace.claim(verb.lookAhead, verb.most, verb.fates)
      return
    case 'gate': {
      const delivery = pick(trace.live('fresh'), verb.which)
      if (delivery !== undefined) await trace.gate(delivery, verb.isHeard)
      return
    }
    case 'start': {
      const delivery = pick(trace.live('granted'), verb.which)
      if (delivery === undefined) return
      if (verb.late !== undefined) trace.now = Math.max(trace.now, delivery.grant!.startAt + verb.late)
      await trace.start(delivery, verb.isHeard)
      if (verb.isTold && delivery.state === 'started') await trace.tellStart(delivery)
      return
    }
    case 'tellStart': {
      const delivery = pick(trace.live('started', 'reported'), verb.which)
      if (delivery !== undefined && delivery.outcome === undefined) await trace.tellStart(delivery)
      return
    }
    case 'finish': {
      const delivery = pick(trace.live('started', 'reported'), verb.which)
      if (delivery !== undefined) await trace.finish(delivery, verb.ending, verb.isHeard)
      return
    }
    case 'giveBack': {
      const delivery = pick(trace.live('fresh', 'granted'), verb.which)
      if (delivery !== undefined) await trace.giveBack(delivery, verb.delay)
      return
    }
    case 'renew':
      return trace.renew(verb.worker)
    case 'freeze':
      return trace.freeze(verb.key, verb.duration)
    case 'unfreeze':
      return trace.unfreeze(verb.key)
    case 'pause':
    case 'resume':
      return trace.hold(verb.do, verb.key)
    case 'cancel':
      return trace.cancel(verb.which)
    case 'setLimit':
      return trace.setLimit(verb.limit)
    default:
      return trace[verb.do]()
  }
}
