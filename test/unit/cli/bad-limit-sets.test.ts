import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { openService } from './open-service.ts'
import { run } from './run-program.ts'

beforeEach(() => {
  for (const name of ['REDIS_URL', 'VELVET_ROPE_NAME', 'VELVET_ROPE_TOKEN', 'VELVET_ROPE_URL']) {
    vi.stubEnv(name, undefined)
  }
})

const LIMIT = '9, 1/s, 1000 tokens/minute 400 each'

describe('a bad limit of several parts is refused in the library, over HTTP and on the command line', () => {
  it.each([
    [
      '9, 1/s, 90,000 tokens/minute 5 each',
      'expected numbers without a comma inside, such as 90000 or 90_000',
    ],
    ['9, 1/s, 5/day, 6 per 1d', 'expected one quota of a unit for each window, got: two like "6/day"'],
    ['9, 1/s, 5 t/day 1 each, 6 t/day 1 each', 'got: two like "6 t/day 1 each"'],
    ['9, 1/s, 5 t/day 6 each', 'from 1 to the amount of the quota (5), got: 6'],
    ['9, 1/s, 0/day', 'expected the amount of a quota to be a whole number from 1'],
    ['9, 1/s, 5 t/day', 'expected the quota of t to have a default for jobs that name no amount'],
    ['9, 1/s, 5 per day in PST8', 'expected a time zone such as America/Los_Angeles or UTC, got: "PST8"'],
    ['9, 1/s, 5 r/day 1 each', 'expected a unit to be a name'],
    ['9, 90000 tokens/minute', 'make tokens a quota after it'],
    ['9, 1/s, 0 at once', 'expected the number that may run at once to be a whole number from 1'],
  ])('%s', async (limit, hint) => {
    const { shaper, url } = await openService({ '*': LIMIT })
    const before = shaper.limits.list()
    await expect(shaper.limits.set('k', limit)).rejects.toMatchObject({
      code: 'invalid-limit',
      message: expect.stringContaining(hint),
    })
    const answer = await fetch(`${url}/v1/limits/k`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ limit }),
    })
    expect(answer.status).toBe(422)
    expect(await answer.text()).toContain(JSON.stringify(hint).slice(1, -1))
    const set = await run('limits', 'set', 'k', limit, '--url', url)
    expect(set).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(hint) })
    const simulated = await run('simulate', '--pattern', 'steady', '--limit', limit)
    expect(simulated).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(hint) })
    expect([shaper.limits.list(), shaper.limits.version]).toEqual([before, 1])
  })
})

describe('a settlement that comes too late is refused in the library, over HTTP and on the command line', () => {
  async function running() {
    const { shaper, url } = await openService({ '*': LIMIT })
    let end: () => void = () => undefined
    const started = new Promise<void>((resolve) => {
      shaper.work(() => {
        resolve()
        return new Promise<void>((done) => {
          end = done
        })
      })
    })
    onTestFinished(() => end())
    await shaper.enqueue('k', 1, { id: 'j', costs: { tokens: 900 } })
    await started
    const refuse = async (id: string, status: number) => {
      expect(await shaper.settle(id, { tokens: 1 })).toBe(false)
      const answer = await fetch(`${url}/v1/jobs/${id}/settle`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"costs":{"tokens":2}}',
      })
      expect(answer.status).toBe(status)
      const { code, stdout, stderr } = await run('settle', id, '--url', url, '--cost-of', 'tokens=3')
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      return { body: await answer.json(), stderr }
    }
    const used = async () => (await shaper.inspect('k'))!.quotas![0]!.used
    return { shaper, refuse, used, end: () => end() }
  }

  it('twice, with another number, and after the end', async () => {
    const { shaper, refuse, used, end } = await running()
    expect(await shaper.settle('j', { tokens: 30 })).toBe(true)
    expect(await refuse('j', 200)).toEqual({
      body: { settled: false },
      stderr:
        'job j is not settled: it is unknown, does not run, was settled before, or another start was named\n',
    })
    expect(await used()).toBe(30)
    end()
    await expect.poll(async () => (await shaper.job('j'))!.state).toBe('completed')
    expect((await refuse('j', 200)).body).toEqual({ settled: false })
    expect(await used()).toBe(30)
  })

  it('after the end of an attempt that was never settled, whose estimate stands', async () => {
    const { shaper, refuse, used, end } = await running()
    end()
    await expect.poll(async () => (await shaper.job('j'))!.state).toBe('completed')
    await refuse('j', 200)
    expect(await used()).toBe(900)
  })

  it('of an unknown job', async () => {
    const { refuse, used, end } = await running()
    const { body, stderr } = await refuse('nothing', 404)
    expect(body).toMatchObject({ type: 'urn:velvet-rope:problem:not-found' })
    expect(stderr).toContain('job nothing is not settled')
    expect(await used()).toBe(900)
    end()
  })
})
