import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Attributes,
  type AttributeValue,
  type Context,
  type ContextManager,
  context,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanKind,
  type SpanOptions,
  type SpanStatus,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'

/** A span as it was reported to the API; everything of it can be looked at. */
export class RecordedSpan implements Span {
  readonly name: string
  readonly kind: SpanKind | undefined
  readonly attributes: Attributes
  readonly links: readonly Link[]
  readonly parent: SpanContext | undefined
  readonly exceptions: unknown[] = []
  status: SpanStatus | undefined
  ends = 0
  readonly #own: SpanContext

  constructor(name: string, options: SpanOptions, parent: SpanContext | undefined, own: SpanContext) {
    this.name = name
    this.kind = options.kind
    this.attributes = { ...options.attributes }
    this.links = options.links ?? []
    this.parent = parent
    this.#own = own
  }

  get traceparent(): string {
    return `00-${this.#own.traceId}-${this.#own.spanId}-01`
  }

  spanContext(): SpanContext {
    return this.#own
  }

  setAttribute(key: string, value: AttributeValue): this {
    return this.setAttributes({ [key]: value })
  }

  setAttributes(attributes: Attributes): this {
    Object.assign(this.attributes, attributes)
    return this
  }

  setStatus(status: SpanStatus): this {
    this.status = status
    return this
  }

  end(): void {
    this.ends++
  }

  recordException(exception: unknown): void {
    this.exceptions.push(exception)
  }

  addEvent(): this {
    return this
  }

  addLink(): this {
    return this
  }

  addLinks(): this {
    return this
  }

  updateName(): this {
    return this
  }

  isRecording(): boolean {
    return this.ends === 0
  }
}

/** What an SDK does: numbers the spans, and keeps them, in the order in which they began. */
export class RecordingTracer implements TracerProvider, Tracer {
  readonly spans: RecordedSpan[] = []

  getTracer(): Tracer {
    return this
  }

  startSpan(name: string, options: SpanOptions = {}, within: Context = context.active()): Span {
    const parent = options.root === true ? undefined : trace.getSpanContext(within)
    const number = this.spans.length + 1
    const span = new RecordedSpan(name, options, parent, {
      traceId: parent?.traceId ?? number.toString(16).padStart(32, 'a'),
      spanId: number.toString(16).padStart(16, 'b'),
      traceFlags: 1,
    })
    this.spans.push(span)
    return span
  }

  /** The traces under test begin their spans by themselves. */
  startActiveSpan(): never {
    throw new Error('not in use')
  }

  /** Those of one name. */
  named(name: string): RecordedSpan[] {
    return this.spans.filter((span) => span.name === name)
  }

  /** Registers itself as the SDK of this process; calling the answer ends it. */
  register(): () => void {
    trace.setGlobalTracerProvider(this)
    context.setGlobalContextManager(new StoredContext())
    return () => {
      trace.disable()
      context.disable()
    }
  }
}

class StoredContext implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>()

  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT
  }

  with<Given extends unknown[], Call extends (...given: Given) => ReturnType<Call>>(
    within: Context,
    call: Call,
    self?: ThisParameterType<Call>,
    ...given: Given
  ): ReturnType<Call> {
    return this.#storage.run(within, () => call.apply(self, given))
  }

  bind<Target>(_: Context, target: Target): Target {
    return target
  }

  enable(): this {
    return this
  }

  disable(): this {
    return this
  }
}
