import { expect, onTestFinished, test } from 'vitest'
import { built } from '../../support/built.ts'
import { ThirdParty } from '../../support/third-party.ts'
import { logOf, post, serve } from './running.ts'

const CALLER = { trace: 'c'.repeat(32), span: 'd'.repeat(16) }

interface SpanRecord {
  readonly name: string
  readonly traceparent: string
  readonly parent?: string
  readonly links: readonly string[]
}

test('the span of a caller is the parent of that of its request, to which that of the call is linked', async () => {
  const api = await ThirdParty.start({ perSecond: 1_000, burst: 1_000 })
  onTestFinished(() => api.stop())
  const service = await serve(
    { limits: { 'shop/*': '5, 10/s' }, forward: { allow: [api.url], allowPrivate: ['127.0.0.1'] } },
    [],
    { NODE_OPTIONS: `--import ${built('test/support/children/recording-sdk.ts')}` },
  )
  const headers = { traceparent: `00-${CALLER.trace}-${CALLER.span}-01` }
  const data = { method: 'GET', url: `${api.url}/acme` }
  expect((await post(`${service.url}/v1/buckets/shop%2F42/jobs`, { data }, headers)).status).toBe(202)
  await api.when(() => api.calls.length === 1)
  service.signal('SIGTERM')
  const { stderr, code } = await service.ended
  expect(code).toBe(0)
  const spans = logOf(stderr).find(({ message }) => message === 'spans')!['spans'] as SpanRecord[]
  const [send, call] = spans
  expect(spans.map(({ name }) => name)).toEqual(['send shop/*', 'process shop/*'])
  expect(send).toMatchObject({ parent: CALLER.span, traceparent: expect.stringContaining(CALLER.trace) })
  expect(call).toMatchObject({ links: [send!.traceparent.split('-')[2]] })
  expect(call).not.toHaveProperty('parent')
})
