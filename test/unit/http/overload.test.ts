import { describe, expect, test } from 'vitest'
import { OverloadGuard } from '../../../src/http/overload.ts'
import { eventually } from '../../support/patience.ts'
import { Api, expectProblem, signal } from './api.ts'

/** Of memory, and of what one token may have. */
const UNBOUNDED = { maxHeapShare: 1, maxTokenShare: 1, heapReserveMb: 0, maxSegmentShare: 1 }
const NOTHING_HELD = { of: () => 0, sum: () => ({ bytes: 0, segments: 0 }) }

describe('overload', () => {
  const busy = 'temporary-reduced-capacity'

  test.each([
    [200, 202],
    [201, 503],
  ])('begins beyond 200 ms of lag: %i ms are answered with %i', async (lag, status) => {
    const answer = await new Api(undefined, { lagMs: () => lag }).enqueue('k')
    expect(answer.status).toBe(status)
    expect(answer.headers.get('retry-after')).toBe(status === 503 ? '1' : null)
  })

  test('has a configurable threshold', async () => {
    const api = new Api(undefined, { lagMs: () => 30, overload: { maxLagMs: 20 } })
    expectProblem(await api.get('/v1/buckets'), 503, busy)
  })

  test('ends when the lag does', async () => {
    let lag = 500
    const api = new Api(undefined, { lagMs: () => lag })
    expectProblem(await api.enqueue('k'), 503, busy)
    lag = 0
    expect((await api.enqueue('k')).status).toBe(202)
  })

  test('rejects requests that arrive while too many are being answered', async () => {
    const api = new Api(undefined, { overload: { maxInFlight: 2 } })
    const { enqueue } = api.shaper
    const go = signal()
    api.shaper.enqueue = async (...request) => {
      await go.given
      return enqueue.apply(api.shaper, request)
    }
    const first = [api.enqueue('k'), api.enqueue('k')]
    expectProblem(await api.enqueue('k'), 503, busy)
    go.give()
    expect((await Promise.all(first)).map(({ status }) => status)).toEqual([202, 202])
    expect((await api.enqueue('k')).status).toBe(202)
  })

  test('does not count clients that send slowly', async () => {
    const guard = new OverloadGuard({ ...UNBOUNDED, maxInFlight: 1, maxLagMs: 1_000 }, NOTHING_HELD)
    const arrivals: (() => void)[] = []
    const slow = () =>
      guard.run(() =>
        guard.whileReading(() => new Promise<string>((resolve) => arrivals.push(() => resolve('read')))),
      )
    const [first, second] = [slow(), slow()]
    expect(await guard.run(async () => 'answered')).toBe('answered')
    arrivals[0]!()
    expect(await first).toBe('read')
    let onEnd: () => void = () => undefined
    const busyOne = guard.run(
      () =>
        new Promise<void>((resolve) => {
          onEnd = resolve
        }),
    )
    // There was room when it began to send, and is none now.
    arrivals[1]!()
    await expect(second).rejects.toThrow('too many requests')
    onEnd()
    await busyOne
    expect(await guard.run(async () => 'answered')).toBe('answered')
  })

  test('of memory refuses new jobs; reading and cancelling go on', async () => {
    const gigabyte = 2 ** 30
    let used = 0.9 * gigabyte
    const api = new Api(undefined, { heap: () => ({ used, limit: gigabyte }) })
    await api.enqueue('k', { data: 1, id: 'x' })
    used += 1
    expectProblem(await api.enqueue('k'), 503, busy)
    expectProblem(await api.post('/v1/jobs', { jobs: [{ key: 'k', data: 1 }] }), 503, busy)
    expect((await api.get('/v1/buckets')).status).toBe(200)
    expect((await api.call('DELETE', '/v1/jobs/x')).status).toBe(204)
  })

  test('of memory refuses whatever makes a bucket or a rule; lifting and removing go on', async () => {
    let used = 0
    const api = new Api(undefined, { heap: () => ({ used, limit: 2 ** 30 }) })
    const limit = { limit: '5, 1/s' }
    for (const verb of ['pause', 'freeze']) await api.post(`/v1/buckets/held/${verb}`, { forMs: 60_000 })
    for (const query of ['', '?scope=local']) await api.call('PUT', `/v1/limits/a${query}`, { body: limit })
    used = 2 ** 30
    expectProblem(await api.post('/v1/buckets/k/pause'), 503, busy)
    expectProblem(await api.post('/v1/buckets/k/freeze', { forMs: 60_000 }), 503, busy)
    expectProblem(await api.call('PUT', '/v1/limits/b', { body: limit }), 503, busy)
    expectProblem(await api.call('PUT', '/v1/limits/b?scope=local', { body: limit }), 503, busy)
    expect((await api.shaper.buckets()).total).toBe(1)
    expect(api.shaper.limits.overrides()).toHaveLength(1)
    expect(api.shaper.limits.locals()).toHaveLength(1)
    expect((await api.post('/v1/buckets/held/resume')).status).toBe(204)
    expect((await api.call('DELETE', '/v1/buckets/held/freeze')).status).toBe(204)
    expect((await api.call('DELETE', '/v1/limits/a?scope=local')).status).toBe(204)
    expect((await api.call('DELETE', '/v1/limits/a?override=only')).status).toBe(204)
  })

  test('of memory keeps a reserve, however small the heap is', async () => {
    const megabyte = 2 ** 20
    let used = 63 * megabyte
    // What V8 says with --max-old-space-size=80: a share of 90 % would never be reached.
    const api = new Api(undefined, { heap: () => ({ used, limit: 128 * megabyte }) })
    expect((await api.enqueue('k')).status).toBe(202)
    used = 65 * megabyte
    expectProblem(await api.enqueue('k'), 503, busy)
    const large = new Api(undefined, {
      heap: () => ({ used, limit: 128 * megabyte }),
      overload: { heapReserveMb: 16 },
    })
    expect((await large.enqueue('k')).status).toBe(202)
  })

  test('of memory is judged again when the body is there', async () => {
    let used = 0
    const api = new Api(undefined, { heap: () => ({ used, limit: 2 ** 30 }) })
    const text = new TextEncoder()
    const body = (json: string) =>
      new ReadableStream({
        pull(controller) {
          used = 2 ** 30
          controller.enqueue(text.encode(json))
          controller.close()
        },
      })
    const headers = { 'Content-Type': 'application/json' }
    const one = { raw: body('{"data":1}'), headers }
    expectProblem(await api.call('POST', '/v1/buckets/k/jobs', one), 503, busy)
    used = 0
    const many = { raw: body('{"jobs":[{"key":"k","data":1}]}'), headers }
    expectProblem(await api.call('POST', '/v1/jobs', many), 503, busy)
    expect((await api.shaper.audit()).admitted).toBe(0)
  })

  test('of memory refuses a job before its body is read', async () => {
    const api = new Api(undefined, { heap: () => ({ used: 2 ** 30, limit: 2 ** 30 }) })
    const reads: string[] = []
    const body = (name: string) => {
      const pull = (controller: ReadableStreamDefaultController) => {
        reads.push(name)
        controller.close()
      }
      return new ReadableStream({ pull }, { highWaterMark: 0 })
    }
    const headers = { 'Content-Type': 'application/json' }
    const one = { raw: body('one'), headers }
    expectProblem(await api.call('POST', '/v1/buckets/k/jobs', one), 503, busy)
    expectProblem(await api.call('POST', '/v1/jobs', { raw: body('many'), headers }), 503, busy)
    expect(reads).toEqual([])
  })

  test('of memory refuses what a meter would keep', async () => {
    let used = 0
    const api = new Api(undefined, { heap: () => ({ used, limit: 2 ** 30 }) })
    expect((await api.post('/v1/meters/k/fill', { amount: 1 })).status).toBe(200)
    used = 2 ** 30
    expectProblem(await api.post('/v1/meters/k/fill', { amount: 1 }), 503, busy)
    expect((await api.get('/v1/meters/k')).status).toBe(200)
  })

  test('is seen also where the event loop stood still for seconds, and is over when it turns again', async () => {
    const guard = new OverloadGuard({ ...UNBOUNDED, maxInFlight: 10, maxLagMs: 200 }, NOTHING_HELD)
    guard.assertCalm()
    // The measurement has begun when the loop has turned.
    await new Promise((resolve) => setTimeout(resolve, 20))
    const end = performance.now() + 2_000
    while (performance.now() < end);
    // It is measured in the first turn or in the second. On a busy machine many more may follow within 20 ms, none of them late.
    for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setTimeout(resolve))
    expect(() => guard.assertCalm()).toThrow('overloaded')
    await eventually(() => guard.assertCalm())
  })

  test('is seen by the process itself', async () => {
    const roomy = { ...UNBOUNDED, maxInFlight: 10, maxLagMs: 20 }
    const guard = new OverloadGuard(roomy, NOTHING_HELD)
    expect(() => guard.assertCalm()).not.toThrow()
    const end = performance.now() + 700
    while (performance.now() < end) {
      const tick = performance.now() + 60
      while (performance.now() < tick);
      await new Promise((resolve) => setTimeout(resolve))
    }
    expect(() => guard.assertCalm()).toThrow('overloaded')
    expect(() => guard.assertRoom()).not.toThrow()
    const narrow = new OverloadGuard({ ...roomy, maxHeapShare: 1e-6 }, NOTHING_HELD)
    expect(() => narrow.assertRoom()).toThrow('almost out of memory')
  })

  test('is not seen where there is none', async () => {
    const api = new Api(undefined, { lagMs: undefined, heap: undefined })
    expect((await api.enqueue('k')).status).toBe(202)
  })
})

describe('while the service goes down', () => {
  test('new jobs are refused with 503; reading and cancelling go on', async () => {
    let isDraining = false
    const api = new Api(undefined, { isDraining: () => isDraining })
    await api.enqueue('k', { data: 1, id: 'x' })
    isDraining = true
    for (const answer of [
      await api.enqueue('k'),
      await api.post('/v1/jobs', { jobs: [{ key: 'k', data: 1 }] }),
      await api.get('/v1/events'),
    ]) {
      expectProblem(answer, 503, 'temporary-reduced-capacity')
      expect(answer.headers.get('retry-after')).toBe('5')
    }
    expect((await api.get('/v1/jobs/x')).status).toBe(200)
    expect((await api.call('DELETE', '/v1/jobs/x')).status).toBe(204)
    expect((await api.shaper.audit()).admitted).toBe(1)
  })

  test('meters go on: a fill leaves no work behind', async () => {
    const api = new Api(undefined, { isDraining: () => true })
    expect((await api.post('/v1/meters/k/fill')).status).toBe(200)
    await api.meter.close()
    expectProblem(await api.post('/v1/meters/k/fill'), 503, 'temporary-reduced-capacity')
  })

  test('a shaper that is closed already means 503 as well', async () => {
    const api = new Api()
    await api.shaper.close()
    expectProblem(await api.enqueue('k'), 503, 'temporary-reduced-capacity')
  })
})
