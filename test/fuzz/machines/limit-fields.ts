import { deepStrictEqual, ok } from 'node:assert/strict'
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { parseList } from 'structured-headers'
import { machine } from '../machine.ts'
import {
  intervalOf,
  type LimitSpec,
  limitSpec,
  nameOf,
  SECOND,
  unitsOf,
  windowOf,
} from '../parts/limit-spec.ts'
import { type Asked, PartLine, type Reply } from '../parts/part-line.ts'
import { chargeIn, roomAt, type Started, usedAt } from '../parts/start-log.ts'

/** Keys that are their own patterns; of some no text may stand in a header. */
const KEYS = [
  'k',
  'a/b',
  'o"ai',
  'back\\slash',
  ' ',
  'it\'s; r=0, "x"',
  '%7Bé',
  'é/{}',
  '🎟️',
  '~'.repeat(200),
  'constructor',
]

const cost = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 3 }) },
  fc.constantFrom(8, 20, 21, 1e9),
)
const costs = fc.dictionary(
  fc.constantFrom('tokens', 'images', 'a-b_1', 'unknown'),
  fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constantFrom(50, 1_000, 1e9)),
  { maxKeys: 2, noNullPrototype: true },
)
const lapse = fc.oneof(
  fc.integer({ min: 0, max: 500_000 }),
  fc.integer({ min: 0, max: 8 * SECOND }),
  fc.constantFrom(SECOND, 60 * SECOND, 61 * SECOND, 300 * SECOND, 3_600 * SECOND, 3_601.1 * SECOND),
)
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('enqueue' as const), cost, costs }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('again' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('fill' as const),
      amount: fc.oneof(cost, fc.constantFrom(0, 0.5)),
      costs,
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pass' as const), lapse }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('end' as const) }) },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never
const STEPS = 12

type Members = [name: string, parameters: Record<string, unknown>][]

/** Reads a field by a parser that knows nothing of this package. */
function readList({ headers }: Reply, name: string): Members {
  const text = headers.get(name)
  ok(text !== null && /^[\x20-\x7e]*$/.test(text), `${name}: ${text}`)
  return parseList(text).map(([value, parameters]) => {
    ok(typeof value === 'string', `no String in ${text}`)
    for (const number of ['q', 'w', 'r', 't']) {
      const found = parameters.get(number)
      ok(found === undefined || (Number.isInteger(found) && (found as number) >= 0), `${number} in ${text}`)
    }
    return [value, Object.fromEntries(parameters)]
  })
}

/** Whole seconds, rounded up. */
const inSeconds = (time: number) => Math.max(0, Math.ceil(time / SECOND - 1e-6))
const nameIn = (pattern: string) =>
  /^[\x20-\x7e]*$/.test(pattern)
    ? pattern
    : `sha256-${createHash('sha256').update(pattern).digest('hex').slice(0, 16)}`

function policiesOf(spec: LimitSpec, pattern: string): Members {
  const name = nameIn(pattern)
  const { capacity, quotas, concurrency } = spec
  return [
    [name, { q: capacity, w: inSeconds(capacity * intervalOf(spec)) }],
    ...quotas.map((quota): Members[0] => {
      const { amount: q, unit: qu } = quota
      return [
        `${name} ${nameOf(quota)}`,
        { q, w: inSeconds(windowOf(quota)), ...(qu !== undefined && { qu }) },
      ]
    }),
    ...(concurrency === undefined
      ? []
      : [[`${name} ${concurrency} at once`, { q: concurrency, qu: 'concurrent-requests' }] as Members[0]]),
  ]
}

/** What is left of each quota of what has started, and where the next has no room, when it has. */
function leftOf({ quotas }: LimitSpec, starts: readonly Started[], now: number, isTimed: boolean) {
  return quotas.map((quota) => {
    const room = roomAt(quota, starts, now)
    return {
      r: Math.max(0, quota.amount - usedAt(quota, starts, now)),
      ...(isTimed && room > now && { t: inSeconds(room - now) }),
      ...(quota.unit !== undefined && { qu: quota.unit }),
    }
  })
}

class Fields {
  readonly #line: PartLine
  readonly #key: string
  readonly #fills: Started[] = []
  /** Of the meter: units of its bucket, at a time. */
  #level = { units: 0, at: 0 }
  #last: string | undefined
  #count = 0
  /** The times that answers gave for the next departure, until it comes. */
  #told: { readonly at: number; readonly t: unknown }[] = []
  readonly #promised = new Map<string, unknown>()

  constructor(spec: LimitSpec, key: string) {
    this.#key = key
    this.#line = new PartLine(spec, key)
  }

  async take(step: Step): Promise<void> {
    const line = this.#line
    const started = line.starts.length
    switch (step.do) {
      case 'pass':
        await line.pass(step.lapse)
        break
      case 'end':
        await line.end()
        break
      case 'enqueue':
        this.#last = JSON.stringify({
          data: null,
          cost: step.cost,
          costs: step.costs,
          id: `j${this.#count++}`,
        })
        await this.#enqueue(this.#last)
        break
      case 'again':
        if (this.#last !== undefined) await this.#enqueue(this.#last)
        break
      case 'fill':
        await this.#fill(step.amount, step.costs)
    }
    this.#checkTimes(started)
    await line.check()
  }

  /** The first start since then is the departure of which answers told. Free places decide about others. */
  #checkTimes(since: number): void {
    const line = this.#line
    const first = line.starts[since]
    if (first === undefined) return
    for (const { at, t } of this.#told) {
      if (line.spec.concurrency === undefined)
        deepStrictEqual(t, inSeconds(first.at - at), 'the time to the next departure')
    }
    this.#told = []
    for (const { job, start } of line.running) {
      const departsAt = this.#promised.get(job.id)
      if (departsAt !== undefined)
        deepStrictEqual(departsAt, Math.ceil(start.at / 1_000), `${job.id} departs as it was told`)
      this.#promised.delete(job.id)
    }
  }

  async #enqueue(text: string): Promise<void> {
    const line = this.#line
    const asked: Asked = JSON.parse(text)
    const { spec, now } = line
    const before = { starts: [...line.starts], taken: line.running.length }
    const { status, quota, isReplay = false } = line.ask(asked)
    const free = spec.capacity - line.units
    const reply = await line.send('POST', `/v1/buckets/${encodeURIComponent(this.#key)}/jobs`, text)
    deepStrictEqual(reply.status, status, text)
    if (status === 422) {
      deepStrictEqual([reply.body['quota'], reply.headers.get('ratelimit')], [quota, null])
      const [[ofLine] = []] = policiesOf(spec, this.#key)
      if (quota !== undefined) deepStrictEqual(reply.body['violated-policies'], [`${ofLine} ${quota}`])
      return
    }
    deepStrictEqual(readList(reply, 'ratelimit-policy'), policiesOf(spec, this.#key))
    const [ofLine, ...ofParts] = readList(reply, 'ratelimit')
    const isAccepted = status === 202
    const names = policiesOf(spec, this.#key).map(([name]) => name)
    deepStrictEqual([ofLine![0], ...ofParts.map(([name]) => name)], names)
    deepStrictEqual(ofLine![1]['r'], free, 'free units')
    const t = ofLine![1]['t']
    if (isReplay) return
    if (isAccepted) {
      this.#told.push({ at: now, t })
      if (reply.body['isEstimate'] !== true) this.#promised.set(asked.id, reply.body['departsAt'])
    } else {
      const ms = reply.body['retryAfterMs'] as number
      deepStrictEqual(t, Math.ceil(ms / 1_000))
      deepStrictEqual(reply.headers.get('retry-after'), `${Math.max(1, Math.ceil(ms / 1_000))}`)
      deepStrictEqual(reply.body['violated-policies'], [names[0]])
    }
    const left = leftOf(spec, before.starts, now, false)
    const { concurrency } = spec
    const places =
      concurrency === undefined ? [] : [{ r: concurrency - before.taken, qu: 'concurrent-requests' }]
    deepStrictEqual(
      ofParts.map(([, parameters]) => parameters),
      [...left, ...places],
    )
  }

  async #fill(amount: number, named: Record<string, number>): Promise<void> {
    const line = this.#line
    const { quotas, ...rest } = line.spec
    const spec: LimitSpec = { capacity: rest.capacity, rate: rest.rate, quotas }
    const body = JSON.stringify({ amount, costs: named })
    const reply = await line.send('POST', `/v1/meters/${encodeURIComponent(this.#key)}/fill`, body)
    const { now } = line
    const isUnknown = Object.keys(named).some((unit) => !unitsOf(spec).includes(unit))
    const isFraction = !Number.isInteger(amount) && quotas.some(({ unit }) => unit === undefined)
    if (isUnknown || isFraction) {
      deepStrictEqual([reply.status, reply.headers.get('ratelimit')], [422, null], body)
      return
    }
    // Of an amount of 0 a unit that is not named counts nothing.
    const none = Object.fromEntries(unitsOf(spec).map((unit) => [unit, 0]))
    const start: Started = { at: now, cost: amount, costs: amount === 0 ? { ...none, ...named } : named }
    const leaked = Math.max(0, this.#level.units - (now - this.#level.at) / intervalOf(spec))
    const fits =
      leaked + amount <= spec.capacity + 1e-9 &&
      quotas.every((quota) => usedAt(quota, this.#fills, now) + chargeIn(quota, start) <= quota.amount)
    const neverFits = amount > spec.capacity || quotas.some((quota) => chargeIn(quota, start) > quota.amount)
    deepStrictEqual(reply.status, fits ? 200 : neverFits ? 422 : 429, body)
    this.#level = { units: fits ? leaked + amount : leaked, at: now }
    if (fits) this.#fills.push(start)
    deepStrictEqual(readList(reply, 'ratelimit-policy'), policiesOf(spec, this.#key))
    const [ofMeter, ...ofParts] = readList(reply, 'ratelimit')
    deepStrictEqual(ofMeter![1]['r'], Math.floor(spec.capacity - this.#level.units + 1e-9))
    deepStrictEqual(
      ofParts.map(([, parameters]) => parameters),
      leftOf(spec, this.#fills, now, true),
    )
    if (reply.status !== 429) return
    const ms = reply.body['retryAfterMs'] as number
    deepStrictEqual(ofMeter![1]['t'], Math.ceil(ms / 1_000))
    const names = policiesOf(spec, this.#key).map(([name]) => name)
    const [violated] = reply.body['violated-policies'] as string[]
    ok(names.includes(violated!))
    const quota = reply.body['quota']
    deepStrictEqual(violated, quota === undefined ? names[0] : `${names[0]} ${quota}`)
  }

  close(): Promise<void> {
    return this.#line.close()
  }
}

/**
 * `RateLimit-Policy` and `RateLimit` of lines and meters under limits of several parts: structured fields, read by a parser of others,
 * that say of each part what the limit says, what a model counts, and what the verdict says.
 */
export const limitFields = machine({
  name: 'fields of several limits',
  inputs: fc.tuple(
    limitSpec,
    fc.constantFrom(...KEYS),
    fc.array(step, { minLength: 1, maxLength: STEPS, size: 'max' }),
  ),
  few: 600,
  share: 8,
  size: STEPS / 2,
  open: async () => {
    const give = async ([spec, key, steps]: [LimitSpec, string, Step[]]) => {
      const fields = new Fields(spec, key)
      try {
        for (const step of steps) await fields.take(step)
      } finally {
        await fields.close()
      }
      return steps.length
    }
    return { give, close: async () => undefined }
  },
})
