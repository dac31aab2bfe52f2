import { describe, expect, test } from 'vitest'
import { OverloadGuard } from '../../../src/http/overload.ts'
import { Api, expectProblem, signal } from './api.ts'

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
    const guard = new OverloadGuard({ maxInFlight: 1, maxLagMs: 1_000, maxHeapShare: 1, maxTokenShare: 1 })
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
    let share = 0.9
    const api = new Api(undefined, { heapShare: () => share })
    await api.enqueue('k', { data: 1, id: 'x' })
    share = 0.91
    expectProblem(await api.enqueue('k'), 503, busy)
    expectProblem(await api.post('/v1/jobs', { jobs: [{ key: 'k', data: 1 }] }), 503, busy)
    expect((await api.get('/v1/buckets')).status).toBe(200)
    expect((await api.call('DELETE', '/v1/jobs/x')).status).toBe(204)
  })

  test('is seen by the process itself', async () => {
    const roomy = { maxInFlight: 10, maxLagMs: 20, maxHeapShare: 1, maxTokenShare: 1 }
    const guard = new OverloadGuard(roomy)
    expect(() => guard.assertCalm()).not.toThrow()
    const end = performance.now() + 700
    while (performance.now() < end) {
      const tick = performance.now() + 60
      while (performance.now() < tick);
      await new Promise((resolve) => setTimeout(resolve))
    }
    expect(() => guard.assertCalm()).toThrow('overloaded')
    expect(() => guard.assertRoom()).not.toThrow()
    const narrow = new OverloadGuard({ ...roomy, maxHeapShare: 1e-6 })
    expect(() => narrow.assertRoom()).toThrow('almost out of memory')
  })

  test('is not seen where there is none', async () => {
    const api = new Api(undefined, { lagMs: undefined, heapShare: undefined })
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
