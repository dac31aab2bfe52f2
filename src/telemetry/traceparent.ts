import type { SpanContext } from '@opentelemetry/api'

const FORM = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/
const ZEROS = /^0+$/

/** A span as W3C Trace Context writes it: `00-<trace id>-<span id>-<flags>`; undefined for one that is none. */
export function formatTraceparent({ traceId, spanId, traceFlags }: SpanContext): string | undefined {
  const text = `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`
  return parseTraceparent(text) === undefined ? undefined : text
}

/** Whether it has the form; zeros, which name no span, have it as well. */
export function isTraceparent(text: unknown): boolean {
  return typeof text === 'string' && FORM.test(text)
}

/** The span that a text of that form names, in another process; undefined for one that names none. */
export function parseTraceparent(text: string | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags] = FORM.exec(text ?? '') ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  if (ZEROS.test(traceId) || ZEROS.test(spanId) || text!.startsWith('ff')) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
}
