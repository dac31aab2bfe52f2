import { expect, onTestFinished, test } from 'vitest'
import { Shaper } from '../../src/index.ts'
import { traceShaper } from '../../src/telemetry/tracing.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'
import { RecordingTracer } from '../unit/telemetry/recording-tracer.ts'

const CALLER = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`
const SECRET = 'that-is-secret'

test('on Redis the span of the request is kept with the job, for a worker that knows nothing else of it', async () => {
  const tracer = new RecordingTracer()
  onTestFinished(tracer.register())
  const line = { limits: { '*': '9, 100/s' }, connection: redisAddress(), prefix: uniquePrefix() }
  const producer = new Shaper('traced', line)
  const consumer = new Shaper('traced', line)
  for (const shaper of [producer, consumer]) {
    onTestFinished(() => shaper.close({ drainMs: 0 }))
    await shaper.ready()
    await traceShaper(shaper)
  }
  const completed = new Promise((resolve) => {
    const ids: string[] = []
    consumer.on('completed', ({ id }) => ids.push(id) === 3 && resolve(ids))
  })
  consumer.work(() => undefined)
  await producer.enqueue('k', { text: SECRET }, { id: 'a' })
  await producer.enqueue('k', 0, { id: 'b', traceparent: CALLER })
  await producer.enqueueMany([{ key: 'k', data: 0, id: 'c' }])
  await completed
  const sends = tracer.named('send *')
  const runs = tracer.named('process *')
  expect(runs.map(({ attributes }) => attributes['messaging.message.id'])).toEqual(['a', 'b', 'c'])
  expect(runs.map(({ links }) => links.map((link) => link.context))).toEqual(
    sends.map((send) => [{ ...send.spanContext(), isRemote: true }]),
  )
  expect(sends.map(({ parent }) => parent?.traceId)).toEqual([undefined, 'c'.repeat(32), undefined])
  expect([...sends, ...runs].map(({ ends }) => ends)).toEqual([1, 1, 1, 1, 1, 1])
  expect(JSON.stringify(tracer.spans)).not.toContain(SECRET)
})
