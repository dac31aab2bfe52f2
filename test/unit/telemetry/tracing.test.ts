import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { describe, expect, onTestFinished, test } from 'vitest'
import { FreezeError, InvalidOptionsError, Shaper, type ShaperOptions } from '../../../src/index.ts'
import { formatTraceparent, parseTraceparent } from '../../../src/telemetry/traceparent.ts'
import { traceShaper } from '../../../src/telemetry/tracing.ts'
import { Stage } from '../../support/stage.ts'
import { RecordingTracer } from './recording-tracer.ts'

const TRACE = 'c'.repeat(32)
const CALLER = `00-${TRACE}-${'d'.repeat(16)}-01`
const SECRET = 'that-is-secret'

async function traced(limits: ShaperOptions['limits'] = { '*': '3, 10/s' }) {
  const tracer = new RecordingTracer()
  onTestFinished(tracer.register())
  const stage = new Stage(limits, { jobDefaults: { attempts: 1 } })
  const stop = await traceShaper(stage.shaper)
  return { tracer, stage, shaper: stage.shaper, stop: stop! }
}

describe('a request', () => {
  test('is a producer span, named after the rule, without key and payload', async () => {
    const { tracer, shaper } = await traced({ 'tenant/*': '3, 10/s' })
    await shaper.enqueue(`tenant/${SECRET}`, SECRET, { id: 'a' })
    expect(tracer.spans).toMatchObject([
      {
        name: 'send tenant/*',
        kind: SpanKind.PRODUCER,
        parent: undefined,
        ends: 1,
        attributes: {
          'messaging.system': 'velvet_rope',
          'messaging.operation.name': 'send',
          'messaging.operation.type': 'send',
          'messaging.destination.name': 'tenant/*',
          'messaging.message.id': 'a',
          'velvet_rope.outcome': 'accepted',
        },
      },
    ])
    expect(JSON.stringify(tracer.spans)).not.toContain(SECRET)
  })

  test('that is rejected has no error: its span says why', async () => {
    const { tracer, shaper } = await traced()
    await shaper.enqueue('k', 0, { cost: 9 })
    expect(tracer.spans).toMatchObject([
      { status: undefined, ends: 1, attributes: { 'velvet_rope.outcome': 'too-costly' } },
    ])
  })

  test('that fails ends its span with the code of the error, and fails as before', async () => {
    const { tracer, shaper } = await traced({ a: '3, 10/s' })
    await expect(shaper.enqueue('k', 0)).rejects.toMatchObject({ code: 'no-limit' })
    expect(tracer.spans).toMatchObject([
      {
        name: 'send',
        ends: 1,
        attributes: { 'error.type': 'no-limit' },
        status: { code: SpanStatusCode.ERROR },
      },
    ])
    expect(tracer.spans[0]!.status).toEqual({ code: SpanStatusCode.ERROR })
  })

  test('within a span of the caller, or with its traceparent, is its child', async () => {
    const { tracer, shaper } = await traced()
    const caller = trace.getTracer('caller').startSpan('caller')
    const within = trace.setSpan(context.active(), caller)
    await context.with(within, () => shaper.enqueue('k', 0))
    await context.with(within, () => shaper.enqueue('k', 0, { traceparent: CALLER }))
    const [child, other] = tracer.named('send *')
    expect(child!.parent).toEqual(caller.spanContext())
    expect(other!.parent).toMatchObject({ traceId: TRACE, spanId: 'd'.repeat(16), isRemote: true })
    expect(other!.spanContext().traceId).toBe(TRACE)
  })

  test.each([
    ['a traceparent that is none', { traceparent: 'x' }],
    ['a traceparent that is no text', { traceparent: 7 }],
    ['options that are none', 5],
    ['null', null],
  ])('with %s is rejected as without spans', async (_, options) => {
    const { shaper } = await traced()
    const plain = new Stage({ '*': '3, 10/s' }).shaper
    const message = (given: Shaper) =>
      given.enqueue('k', 0, options as object).catch((error: Error) => error.message)
    const expected = await message(plain)
    expect(expected).toMatch(/expected/)
    expect(await message(shaper)).toBe(expected)
  })

  test.each([[[7]], [[null]], ['text'], [[{ key: 'k' }, undefined]]])(
    'of many that are %o is rejected as without spans',
    async (requests) => {
      const { shaper } = await traced()
      const plain = new Stage({ '*': '3, 10/s' }).shaper
      const error = (given: Shaper) => given.enqueueMany(requests as never).catch((thrown: unknown) => thrown)
      const expected = await error(plain)
      expect(expected).toBeInstanceOf(InvalidOptionsError)
      expect(await error(shaper)).toEqual(expected)
    },
  )

  test('of many is one span, with how many there were and how many were accepted', async () => {
    const { tracer, shaper } = await traced({ '*': '3, 10/s', a: '1, 1/s' })
    await shaper.enqueueMany(['a', 'a'].map((key) => ({ key, data: 0 })))
    await shaper.enqueueMany(['a', 'b'].map((key) => ({ key, data: 0 })))
    expect(await shaper.enqueueMany([])).toEqual([])
    expect(tracer.spans).toMatchObject([
      {
        name: 'send a',
        attributes: { 'messaging.batch.message_count': 2, 'velvet_rope.accepted': 1 },
        ends: 1,
      },
      {
        name: 'send',
        attributes: { 'messaging.batch.message_count': 2, 'velvet_rope.accepted': 1 },
        ends: 1,
      },
    ])
  })
})

describe('a handler', () => {
  test('runs within a consumer span that is linked to the request, not a child of it', async () => {
    const { tracer, stage, shaper } = await traced()
    let active: string | undefined
    shaper.work(async () => {
      await stage.sleep(10)
      active = trace.getActiveSpan()?.spanContext().spanId
    })
    await shaper.enqueue('k', SECRET, { id: 'a' })
    await shaper.enqueue('k', SECRET, { id: 'b' })
    // As timers do, it runs in the context of the code that set them.
    const caller = trace.setSpan(context.active(), trace.getTracer('caller').startSpan('caller'))
    await context.with(caller, () => stage.pass(1_000))
    const sends = tracer.named('send *')
    const [first, second] = tracer.named('process *')
    expect(first).toMatchObject({
      kind: SpanKind.CONSUMER,
      parent: undefined,
      ends: 1,
      status: undefined,
      attributes: {
        'messaging.system': 'velvet_rope',
        'messaging.operation.type': 'process',
        'messaging.message.id': 'a',
        'velvet_rope.attempt': 1,
        'velvet_rope.waited_ms': 0,
      },
    })
    expect(first!.links.map((link) => link.context)).toEqual([{ ...sends[0]!.spanContext(), isRemote: true }])
    expect(second!.links.map((link) => link.context)).toEqual([
      { ...sends[1]!.spanContext(), isRemote: true },
    ])
    expect(second!.attributes['velvet_rope.waited_ms']).toBe(100)
    expect(active).toBe(second!.spanContext().spanId)
    expect(JSON.stringify(tracer.spans)).not.toContain(SECRET)
  })

  test('of many requests: each is linked to the common span, or to its own traceparent', async () => {
    const { tracer, stage, shaper } = await traced()
    const seen: unknown[] = []
    shaper.work(({ traceparent }) => void seen.push(traceparent))
    await shaper.enqueueMany([
      { key: 'k', data: 0 },
      { key: 'k', data: 0, traceparent: CALLER },
    ])
    await stage.pass(1_000)
    expect(seen).toEqual([tracer.spans[0]!.traceparent, CALLER])
  })

  test('that throws or rejects ends its span as failed, without the message', async () => {
    const { tracer, stage, shaper } = await traced()
    shaper.work(({ id }) => {
      if (id === 'k1') throw new TypeError(SECRET)
      return Promise.reject(new Error(SECRET))
    })
    await stage.fill('k', 2)
    await stage.pass(1_000)
    expect(tracer.named('process *')).toMatchObject([
      { ends: 1, exceptions: [], attributes: { 'error.type': 'TypeError' } },
      { ends: 1, exceptions: [], attributes: { 'error.type': 'Error' } },
    ])
    expect(tracer.named('process *').map(({ status }) => status)).toEqual([
      { code: SpanStatusCode.ERROR },
      { code: SpanStatusCode.ERROR },
    ])
    expect(JSON.stringify(tracer.spans)).not.toContain(SECRET)
    await stage.conforms()
  })

  test.each([
    ['a proxy', () => Promise.reject(unreadable())],
    [
      'a getter',
      () => {
        throw Object.defineProperty(new Error('m'), 'name', {
          get: () => {
            throw new Error('no')
          },
        })
      },
    ],
    ['what it answers', () => unreadable() as never],
  ])('with an unreadable result ends all the same: %s', async (_, handler) => {
    const { tracer, stage, shaper } = await traced()
    shaper.work(handler)
    await stage.fill('k', 1)
    await stage.pass(1_000)
    expect(tracer.named('process *')).toMatchObject([{ ends: 1, status: { code: SpanStatusCode.ERROR } }])
    expect(stage.emitted.map(([event]) => event)).toEqual(['failed'])
    await stage.conforms()
  })

  test('that freezes its bucket has not failed', async () => {
    const { tracer, stage, shaper } = await traced()
    shaper.work(({ attempt }) => {
      if (attempt === 1 && stage.now < 100) throw new FreezeError({ forMs: 500 })
    })
    await stage.fill('k', 1)
    await stage.pass(1_000)
    const [frozen, second] = tracer.named('process *')
    expect([frozen!.attributes['velvet_rope.outcome'], frozen!.status, frozen!.ends]).toEqual([
      'frozen',
      undefined,
      1,
    ])
    expect(second!.links).toEqual(frozen!.links)
  })

  test('that returns synchronously still does: its job ends in the same tick', async () => {
    const { stage, shaper } = await traced()
    const order: string[] = []
    shaper.on('departed', () => queueMicrotask(() => void order.push('next tick')))
    shaper.on('completed', () => void order.push('completed'))
    shaper.work(() => 'done')
    await stage.fill('k', 1)
    await stage.pass(10)
    expect(order).toEqual(['completed', 'next tick'])
  })
})

describe('without spans', () => {
  test('without the API nothing changes', async () => {
    const { shaper } = new Stage({ '*': '3, 10/s' })
    const before = [shaper.enqueue, shaper.enqueueMany, shaper.work]
    const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
    expect(await traceShaper(shaper, () => Promise.reject(missing))).toBeUndefined()
    expect([shaper.enqueue, shaper.enqueueMany, shaper.work]).toEqual(before)
  })

  test('without a registered SDK jobs keep the traceparent of their callers, or none', async () => {
    const stage = new Stage({ '*': '3, 10/s' })
    await traceShaper(stage.shaper)
    const seen: unknown[] = []
    stage.shaper.work(({ traceparent }) => void seen.push(traceparent))
    await stage.shaper.enqueue('k', 0, { traceparent: CALLER })
    await stage.shaper.enqueue('k', 0)
    await stage.pass(1_000)
    expect(seen).toEqual([CALLER, undefined])
    await stage.conforms()
  })

  test('after its end', async () => {
    const { tracer, stage, shaper, stop } = await traced()
    stop()
    shaper.work(() => undefined)
    await shaper.enqueue('k', 0)
    await stage.pass(1_000)
    expect(tracer.spans).toEqual([])
    expect(shaper.enqueue).toBe(Shaper.prototype.enqueue)
  })
})

test.each([
  undefined,
  '',
  CALLER.toUpperCase(),
  `${CALLER}-extra`,
  `${CALLER}\n`,
  `ff-${TRACE}-${'d'.repeat(16)}-01`,
  `00-${'0'.repeat(32)}-${'d'.repeat(16)}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  [CALLER],
])('%o is not a traceparent', (text) => {
  expect(parseTraceparent(text)).toBeUndefined()
})

test('a traceparent survives formatting and parsing', () => {
  const span = { traceId: TRACE, spanId: 'd'.repeat(16), traceFlags: 1 }
  expect(formatTraceparent(span)).toBe(CALLER)
  expect(parseTraceparent(CALLER)).toEqual({ ...span, isRemote: true })
  expect(formatTraceparent({ ...span, traceId: '0'.repeat(32) })).toBeUndefined()
})

function unreadable(): Error {
  const no = () => {
    throw new Error('do not look')
  }
  return new Proxy(new Error('m'), { get: no, has: no, getPrototypeOf: no })
}
