import type { SpanContext } from '@opentelemetry/api'
import { TRACEPARENT } from '../core/traceparent.ts'

/** A span as W3C Trace Context writes it: `00-<trace id>-<span id>-<flags>`; undefined for one that is none. */
export function formatTraceparent({ traceId, spanId, traceFlags }: SpanContext): string | undefined {
  const text = `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`
  return TRACEPARENT.test(text) ? text : undefined
}

/** The span that such a text names, in another process; undefined for what is none. */
export function parseTraceparent(text: unknown): SpanContext | undefined {
  if (typeof text !== 'string' || !TRACEPARENT.test(text)) return undefined
  const [, traceId = '', spanId = '', flags = ''] = text.split('-')
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
}
