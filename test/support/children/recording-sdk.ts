import { RecordingTracer } from '../../unit/telemetry/recording-tracer.ts'

/** Loaded before a program, as an SDK of OpenTelemetry is: writes what it recorded on standard error at the end. */
const tracer = new RecordingTracer()
tracer.register()
process.once('exit', () => {
  const spans = tracer.spans.map(({ name, traceparent, parent, links }) => ({
    name,
    traceparent,
    parent: parent?.spanId,
    links: links.map(({ context }) => context.spanId),
  }))
  process.stderr.write(`${JSON.stringify({ message: 'spans', spans })}\n`)
})
