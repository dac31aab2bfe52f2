import type { SpanContext } from '@opentelemetry/api'
import { TRACEPARENT } from '../core/traceparent.ts'

/** Formats a span as W3C Trace Context: `00-<trace id>-<span id>-<flags>`; undefined for an invalid span. */
export function formatTraceparent({ traceId, spanId, traceFlags }: SpanContext): string | undefined {
  const text = `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`
  return TRACEPARENT.test(text) ? text : undefined
}

/** Parses such a text into the span of another process; undefined if it is malformed. */
export function parseTraceparent(text: unknown): SpanContext | undefined {
  if (typeof text !== 'string' || !TRACEPARENT.test(text)) return undefined
  const [, traceId = '', spanId = '', flags = ''] = text.split('-')
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
}
