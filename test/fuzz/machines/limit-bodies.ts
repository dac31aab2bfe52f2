import { deepStrictEqual, ok } from 'node:assert/strict'
import fc from 'fast-check'
import { machine } from '../machine.ts'
import { costFrom, costsFrom, objectOf, unknownField, type Written } from '../parts/json-faults.ts'
import {
  type Fault,
  fault,
  faulty,
  type LimitSpec,
  objectOf as limitObject,
  limitSpec,
  nameOf,
  SECOND,
  textOf,
  unitsOf,
} from '../parts/limit-spec.ts'
import { PartLine, type Reply } from '../parts/part-line.ts'

type Costs = Readonly<Record<string, number>>

const rarely = <Value>(arbitrary: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, arbitrary)
const sometimes = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined, freq: 2 })

const job = fc.record({
  cost: sometimes(costFrom),
  costs: fc.oneof({ weight: 4, arbitrary: costsFrom(1) }, fc.constant(undefined)),
  hasData: fc.integer({ min: 0, max: 19 }).map((draw) => draw > 0),
  unknown: rarely(unknownField),
  isAgain: fc.integer({ min: 0, max: 9 }).map((draw) => draw === 0),
})
type Job = typeof job extends fc.Arbitrary<infer Value> ? Value : never

/** Bodies that are no JSON, or more than one may be. */
const raw = fc.constantFrom<readonly [text: () => string, status: number]>(
  [() => '', 400],
  [() => '{', 400],
  [() => '{"data":1}x', 400],
  [() => '[]', 422],
  [() => 'null', 422],
  [() => '5', 422],
  [() => '{"data":1,"costs":{"tokens":12345678901234567890}}', 422],
  [() => `{"data":1,"costs":{"tokens":1}}${' '.repeat(2_000_000)}`, 413],
  [() => `{"data":1,"costs":{${Array.from({ length: 70_000 }, (_, n) => `"u${n}":1`).join()}}}`, 413],
  [() => `{"data":1,"costs":{"tokens":[${'0,'.repeat(25_000)}0]}}`, 422],
  [() => `{"data":1,"costs":{${Array.from({ length: 6_000 }, (_, n) => `"u${n}":0`).join()}}}`, 422],
)
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('enqueue' as const), job }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('batch' as const),
      jobs: fc.array(job, { maxLength: 4 }),
      key: rarely(fc.constant('none')),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('settle' as const),
      which: fc.nat(5),
      costs: fc.oneof({ weight: 6, arbitrary: costsFrom(0) }, fc.constant(undefined)),
      attempt: sometimes(costFrom),
      unknown: rarely(unknownField),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('put' as const),
      limit: limitSpec,
      fault: fc.option(fault, { nil: undefined, freq: 2 }),
      isText: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('raw' as const), raw, isSettle: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      lapse: fc.integer({ min: 0, max: 90 * SECOND }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('end' as const) }) },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never
const STEPS = 12

const NULL: Written<null> = { text: 'null', faults: [], value: null }

class Bodies {
  readonly #line: PartLine
  #count = 0
  /** The last job that was asked for, by its id. */
  #last: string | undefined
  /** Of the running attempts those that were settled, by id. */
  readonly #settled = new Set<string>()

  constructor(spec: LimitSpec) {
    this.#line = new PartLine(spec)
  }

  async take(step: Step): Promise<void> {
    const line = this.#line
    switch (step.do) {
      case 'pass':
        await line.pass(step.lapse)
        break
      case 'end':
        await line.end()
        break
      case 'enqueue':
        await this.#enqueue(step.job)
        break
      case 'batch':
        await this.#batch(step.jobs, step.key)
        break
      case 'settle':
        await this.#settle(step)
        break
      case 'put':
        await this.#put(step.limit, step.isText, step.fault)
        break
      case 'raw':
        await this.#raw(step.raw, step.isSettle)
    }
    await line.check()
  }

  #write({ cost, costs, hasData, unknown, isAgain }: Job, key?: string) {
    if (!isAgain || this.#last === undefined) this.#last = `j${this.#count++}`
    const id = this.#last
    const body = objectOf([
      ['id', { text: JSON.stringify(id), faults: [] }],
      ['key', key === undefined ? undefined : { text: JSON.stringify(key), faults: [] }],
      ['data', hasData ? NULL : undefined],
      ['cost', cost],
      ['costs', costs],
      ...(unknown === undefined ? [] : [unknown]),
    ])
    const faults = hasData ? body.faults : [...body.faults, '/data']
    return { text: body.text, faults, asked: { id, cost: cost?.value ?? 1, costs: costs?.value ?? {} } }
  }

  async #enqueue(job: Job): Promise<void> {
    const { text, faults, asked } = this.#write(job)
    const send = () => this.#line.send('POST', '/v1/buckets/k/jobs', text)
    if (faults.length > 0) return checkFaults(await send(), faults, text)
    const { status, quota, isReplay } = this.#line.ask(asked)
    const { body, headers, ...reply } = await send()
    deepStrictEqual(reply.status, status, text)
    deepStrictEqual([body['quota'], headers.get('idempotent-replayed')], [quota, isReplay ? 'true' : null])
    if (status === 202) deepStrictEqual([body['id'], body['capacity']], [asked.id, this.#line.spec.capacity])
  }

  /** Either all are judged, one after the other, or none. */
  async #batch(jobs: readonly Job[], key = this.#line.key): Promise<void> {
    const written = jobs.map((job) => this.#write(job, key))
    const faults = written.flatMap((job, index) => job.faults.map((fault) => `/jobs/${index}${fault}`))
    if (jobs.length === 0) faults.push('/jobs')
    const text = `{"jobs":[${written.map((job) => job.text).join()}]}`
    const send = () => this.#line.send('POST', '/v1/jobs', text)
    if (faults.length > 0) return checkFaults(await send(), faults, text)
    const isGoverned = key === this.#line.key
    const expected = written.map(({ asked }) =>
      isGoverned ? this.#line.ask(asked) : { status: 422, quota: undefined },
    )
    // Else jobs that are due start while others are judged.
    await this.#line.shaper.pause(this.#line.key)
    const { status, body } = await send()
    await this.#line.shaper.resume(this.#line.key)
    await this.#line.pass(0)
    const statuses = expected.map((one) => one.status)
    const accepted = statuses.filter((one) => one === 202).length
    const whole =
      accepted === 0 ? (statuses.includes(429) ? 429 : 422) : accepted < statuses.length ? 200 : 202
    deepStrictEqual(status, whole, text)
    const verdicts = body['verdicts'] as { status: number; quota?: string }[]
    deepStrictEqual(
      verdicts.map((verdict) => [verdict.status, verdict.quota]),
      expected.map((one) => [one.status, one.quota]),
      text,
    )
    deepStrictEqual([body['accepted'], body['rejected']], [accepted, statuses.length - accepted])
  }

  async #settle(step: Extract<Step, { do: 'settle' }>): Promise<void> {
    const line = this.#line
    const ids = [...line.running.map(({ job }) => job.id), ...line.waiting.map(({ id }) => id), 'nothing']
    const id = ids[step.which % ids.length]!
    const costs = step.costs ?? { text: '{"tokens":2}', faults: [], value: { tokens: 2 } }
    const { text, faults } = objectOf([
      ['costs', costs],
      ['attempt', step.attempt === undefined ? undefined : attemptOf(step.attempt)],
      ...(step.unknown === undefined ? [] : [step.unknown]),
    ])
    const reply = await line.send('POST', `/v1/jobs/${id}/settle`, text)
    if (faults.length > 0) return checkFaults(reply, faults, text)
    if (id === 'nothing') return deepStrictEqual(reply.status, 404)
    const running = line.running.find(({ job }) => job.id === id)
    const amounts: Costs = costs.value!
    const settled = running !== undefined && (step.attempt?.value ?? 1) === 1 && !this.#settled.has(id)
    const units = unitsOf(line.spec)
    if (settled && Object.keys(amounts).some((unit) => !units.includes(unit))) {
      deepStrictEqual([reply.status, reply.body['units']], [422, units], text)
      return
    }
    deepStrictEqual([reply.status, reply.body], [200, { settled }], text)
    if (!settled) return
    this.#settled.add(id)
    line.settle(running, amounts)
  }

  /** A limit of another pattern: it stands there as it was meant, or the book is as before. */
  async #put(limit: LimitSpec, isText: boolean, fault: Fault | undefined): Promise<void> {
    const line = this.#line
    const before = line.shaper.limits.list()
    const wrong = fault && faulty(limit, fault)
    const text = JSON.stringify({ limit: wrong ?? (isText ? textOf(limit) : limitObject(limit)) })
    const reply = await line.send('PUT', '/v1/limits/other', text)
    if (fault !== undefined) {
      checkFaults(reply, ['/limit'], text)
      deepStrictEqual(line.shaper.limits.list(), before)
      return
    }
    deepStrictEqual(reply.status, 200, text)
    const set = reply.body['limit'] as string
    for (const quota of limit.quotas) {
      ok(
        set.includes(`${nameOf(quota)}${quota.each === undefined ? '' : ` ${quota.each} each`}`),
        `${set} for ${text}`,
      )
    }
    deepStrictEqual(set.includes('at once'), limit.concurrency !== undefined)
    const again = await line.send('PUT', '/v1/limits/other', JSON.stringify({ limit: set }))
    deepStrictEqual(again.body['limit'], set)
    deepStrictEqual((await line.send('GET', '/v1/limits/other')).body['limit'], set)
  }

  async #raw(
    [text, status]: readonly [text: () => string, status: number],
    isSettle: boolean,
  ): Promise<void> {
    const line = this.#line
    const path = isSettle ? `/v1/jobs/${line.running[0]?.job.id ?? 'x'}/settle` : '/v1/buckets/k/jobs'
    const reply = await line.send('POST', path, text())
    deepStrictEqual(reply.status, status)
    ok(reply.text.length < 20_000, `an answer of ${reply.text.length} characters`)
  }

  close(): Promise<void> {
    return this.#line.close()
  }
}

/** As a number of an attempt; there may be a thousand. */
function attemptOf({ text, faults, value }: Written<number>): Written<number> {
  return {
    text,
    faults: value !== undefined && value > 1_000 ? [''] : faults,
    ...(value !== undefined && { value }),
  }
}

/** The answer refuses the body, and says of nothing but what is wrong in it where it stands. */
function checkFaults({ status, body, text: answer }: Reply, faults: readonly string[], text: string): void {
  const short = text.slice(0, 500)
  deepStrictEqual([status, body['type']], [422, 'urn:velvet-rope:problem:invalid'], `${short}: ${answer}`)
  const errors = body['errors'] as { detail: string; pointer?: string }[]
  ok(errors.length > 0 && errors.length <= 20)
  for (const { detail, pointer = '' } of errors) {
    const isThere = faults.some((fault) => pointer === `#${fault}` || pointer.startsWith(`#${fault}/`))
    ok(isThere, `${pointer} is none of ${faults.join(', ')} in ${short}: ${detail}`)
    ok(detail.length > 5 && detail.length < 2_000 && !/\p{Control}/u.test(detail), detail)
  }
}

/**
 * Bodies of the API under limits of several parts: one without a fault has the effect that a model says, and is answered so; one with a
 * fault is refused, the answer points at the fault, and nothing has changed.
 */
export const limitBodies = machine({
  name: 'bodies under several limits',
  inputs: fc.tuple(limitSpec, fc.array(step, { minLength: 1, maxLength: STEPS, size: 'max' })),
  few: 600,
  share: 8,
  size: STEPS / 2,
  open: async () => {
    const give = async ([spec, steps]: [LimitSpec, Step[]]) => {
      const bodies = new Bodies(spec)
      try {
        for (const step of steps) await bodies.take(step)
      } finally {
        await bodies.close()
      }
      return steps.length
    }
    return { give, close: async () => undefined }
  },
})
