import type * as api from '@opentelemetry/api'
import { isVelvetRopeError } from '../core/errors.ts'
import type { Admission } from '../core/job.ts'
import { toError } from '../core/thrown.ts'
import type { Handler } from '../line/attempt.ts'
import type { EnqueueOptions, EnqueueRequest } from '../shaper/options.ts'
import type { Shaper } from '../shaper/shaper.ts'
import { patternOf } from './pattern-labels.ts'
import { formatTraceparent, parseTraceparent } from './traceparent.ts'

type Api = typeof api

/** From OpenTelemetry's semantic conventions for messaging. */
const SYSTEM = { 'messaging.system': 'velvet_rope' } as const

/**
 * Creates spans for a shaper, with whatever OpenTelemetry SDK the process has registered: `send <pattern>` around each
 * `enqueue`, whose traceparent is stored with the job, and `process <pattern>` around each call of a handler, linked to
 * it. Spans contain neither keys nor payloads nor error messages.
 *
 * @param load loads the OpenTelemetry API. Default: `import('@opentelemetry/api')`
 * @returns a function that stops it; undefined if the API is not installed, or no SDK is registered yet, and then
 * nothing changes
 */
export async function traceShaper(
  shaper: Shaper,
  load: () => Promise<Api> = () => import('@opentelemetry/api'),
): Promise<(() => void) | undefined> {
  const otel = await load().catch(() => undefined)
  if (otel === undefined || !isRegistered(otel)) return undefined
  const tracing = new Tracing(otel, (key) => patternOf(shaper, key))
  const { enqueue, enqueueMany, work } = shaper
  shaper.enqueue = async (key, data, options) =>
    tracing.send([key], options?.traceparent, (traceparent) =>
      enqueue.call(shaper, key, data, withTraceparent(options, traceparent)),
    )
  shaper.enqueueMany = async (requests) => {
    // The shaper itself rejects anything but a list.
    if (!Array.isArray(requests) || requests.length === 0) return enqueueMany.call(shaper, requests)
    const keys = requests.map((request: EnqueueRequest<unknown>) => request?.key)
    return tracing.send(keys, undefined, (traceparent) =>
      enqueueMany.call(
        shaper,
        requests.map((request) => withTraceparent(request, request?.traceparent ?? traceparent)),
      ),
    )
  }
  shaper.work = (handler, options) =>
    work.call(shaper, typeof handler === 'function' ? tracing.traceHandler(handler) : handler, options)
  return () => void Object.assign(shaper, { enqueue, enqueueMany, work })
}

/** Without a registered SDK, spans do nothing, and creating them would cost a twentieth of a request. */
function isRegistered({ trace, ProxyTracerProvider }: Api): boolean {
  const provider = trace.getTracerProvider()
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer('velvet-rope') !== undefined
}

/** Creates the spans. */
export class Tracing {
  readonly #otel: Api
  readonly #tracer: api.Tracer
  readonly #patternOf: (key: string) => string | undefined

  /**
   * @param patternOf returns the pattern of the rule that applies to a key; spans are named after it
   */
  constructor(otel: Api, patternOf: (key: string) => string | undefined) {
    this.#otel = otel
    this.#tracer = otel.trace.getTracer('velvet-rope')
    this.#patternOf = patternOf
  }

  /**
   * Requests admission within a span, whose traceparent is stored with the job; without a tracer it is that of the
   * caller. The span is a child of the caller's traceparent if given, otherwise of the active span.
   */
  async send<Answer extends Admission | Admission[]>(
    keys: readonly string[],
    caller: string | undefined,
    admit: (traceparent: string | undefined) => Promise<Answer>,
  ): Promise<Answer> {
    const { context, SpanKind, trace } = this.#otel
    const patterns = new Set(keys.map((key) => this.#patternOf(key)))
    const pattern = patterns.size === 1 ? [...patterns][0] : undefined
    const attributes = {
      ...this.#attributes('send', 'send', pattern),
      ...(keys.length > 1 && { 'messaging.batch.message_count': keys.length }),
    }
    const remote = parseTraceparent(caller)
    const parent = remote === undefined ? context.active() : trace.setSpanContext(context.active(), remote)
    const span = this.#tracer.startSpan(
      nameOf('send', pattern),
      { kind: SpanKind.PRODUCER, attributes },
      parent,
    )
    try {
      // The shaper itself rejects a malformed traceparent.
      const isMalformed = caller !== undefined && remote === undefined
      const traceparent = isMalformed ? caller : (formatTraceparent(span.spanContext()) ?? caller)
      const answer = await context.with(trace.setSpan(parent, span), () => admit(traceparent))
      this.#recordVerdict(span, answer)
      return answer
    } catch (error) {
      this.#fail(span, error)
      throw error
    } finally {
      span.end()
    }
  }

  /**
   * Wraps a handler so that each call runs within a span that is linked to that of the job's `enqueue`, not a child of
   * it.
   */
  traceHandler<Data, Result>(handler: Handler<Data, Result>): Handler<Data, Result> {
    const { context, SpanKind, trace } = this.#otel
    return (job) => {
      const pattern = this.#patternOf(job.key)
      const origin = parseTraceparent(job.traceparent)
      const attributes = {
        ...this.#attributes('process', 'process', pattern),
        'messaging.message.id': job.id,
        'velvet_rope.attempt': job.attempt,
        'velvet_rope.waited_ms': job.waitedMs,
      }
      const links = origin === undefined ? [] : [{ context: origin }]
      const settings = { kind: SpanKind.CONSUMER, attributes, links, root: true }
      const span = this.#tracer.startSpan(nameOf('process', pattern), settings)
      const within = trace.setSpan(context.active(), span)
      return this.#end(span, () => context.with(within, () => handler(job)))
    }
  }

  /** A handler that returns synchronously still does. */
  #end<Result>(span: api.Span, call: () => Promise<Result> | Result): Promise<Result> | Result {
    const onError = (error: unknown): never => {
      this.#fail(span, error)
      span.end()
      throw error
    }
    const onResult = (result: Result): Result => {
      span.end()
      return result
    }
    try {
      const answer = call()
      if (isThenable(answer)) return Promise.resolve(answer).then(onResult, onError)
      return onResult(answer)
    } catch (error) {
      return onError(error)
    }
  }

  #attributes(name: string, type: string, pattern: string | undefined): api.Attributes {
    return {
      ...SYSTEM,
      'messaging.operation.name': name,
      'messaging.operation.type': type,
      ...(pattern !== undefined && { 'messaging.destination.name': pattern }),
    }
  }

  /** A rejection is a value, not an error. */
  #recordVerdict(span: api.Span, answer: Admission | Admission[]): void {
    if (Array.isArray(answer)) {
      span.setAttribute('velvet_rope.accepted', answer.filter(({ accepted }) => accepted).length)
    } else if (answer.accepted) {
      span.setAttributes({ 'messaging.message.id': answer.id, 'velvet_rope.outcome': 'accepted' })
    } else {
      span.setAttribute('velvet_rope.outcome', answer.reason)
    }
  }

  /** A freeze is intended. Messages may contain anything, so only the kind of the error is recorded. */
  #fail(span: api.Span, thrown: unknown): void {
    const kind = kindOf(thrown)
    if (kind === 'freeze') {
      span.setAttribute('velvet_rope.outcome', 'frozen')
      return
    }
    span.setAttribute('error.type', kind)
    span.setStatus({ code: this.#otel.SpanStatusCode.ERROR })
  }
}

/** The code of a velvet-rope error, otherwise its name. */
function kindOf(thrown: unknown): string {
  try {
    const error = toError(thrown)
    return isVelvetRopeError(error) ? error.code : String(error.name)
  } catch {
    // The error cannot be read.
    return '_OTHER'
  }
}

function isThenable<Value>(value: Promise<Value> | Value): value is Promise<Value> {
  const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function'
  return isObject && 'then' in value
}

function nameOf(operation: 'send' | 'process', pattern: string | undefined): string {
  return pattern === undefined ? operation : `${operation} ${pattern}`
}

/** The shaper itself rejects invalid options. */
function withTraceparent<Options extends EnqueueOptions | undefined>(
  options: Options,
  traceparent: string | undefined,
): Options {
  const areOptions = options === undefined || (typeof options === 'object' && options !== null)
  return areOptions && traceparent !== undefined ? { ...options, traceparent } : options
}
