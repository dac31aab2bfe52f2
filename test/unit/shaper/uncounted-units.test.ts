import { describe, expect, it, vi } from 'vitest'
import { Stage } from '../../support/stage.ts'
import { openService } from '../cli/open-service.ts'
import { run } from '../cli/run-program.ts'

const LIMIT = '9, 1/s, 1000 tokens/minute 100 each'
const MISTYPED = { costs: { tokns: 900, tokens: 5 } }

describe('a unit that no quota of the limit counts', () => {
  it('is named by the answer that accepts the job', async () => {
    const { shaper } = new Stage(LIMIT)
    expect(await shaper.enqueue('a', 0, { id: 'x', ...MISTYPED })).toMatchObject({ uncounted: ['tokns'] })
    expect(await shaper.enqueue('a', 0, { id: 'x', ...MISTYPED })).toMatchObject({
      replayed: true,
      uncounted: ['tokns'],
    })
    expect(await shaper.forecast('a', MISTYPED)).toMatchObject({ accepted: true, uncounted: ['tokns'] })
    const many = await shaper.enqueueMany([
      { key: 'a', data: 0, costs: { tokens: 5 } },
      { key: 'a', data: 0, costs: { b: 1, a: 1 } },
      { key: 'a', data: 0 },
      { key: 'a', data: 0, costs: { tokens: 2_000, a: 1 } },
    ])
    expect(many.map((answer) => 'uncounted' in answer && answer.uncounted)).toEqual([
      false,
      ['a', 'b'],
      false,
      false,
    ])
    expect(many[3]).toMatchObject({ accepted: false, reason: 'too-costly' })
  })

  it('is named under a limit that has only a pace, too', async () => {
    const { shaper } = new Stage('9, 1/s')
    expect(await shaper.enqueue('a', 0, { costs: { tokens: 5 } })).toMatchObject({ uncounted: ['tokens'] })
  })

  it('is named by the turn that departs, under the limit that the key has then', async () => {
    const stage = new Stage('9, 1/s')
    const turn = await stage.shaper.tryAcquire('a', MISTYPED)
    expect(turn).toMatchObject({ accepted: true, uncounted: ['tokens', 'tokns'] })
    const waiting = stage.shaper.acquire('a', MISTYPED)
    const counted = stage.shaper.acquire('a', { costs: { tokens: 5 } })
    await stage.shaper.limits.set('*', LIMIT)
    await stage.pass(2_000)
    expect(await waiting).toMatchObject({ uncounted: ['tokns'] })
    expect(await (await waiting).settle({ tokens: 4 })).toBe(true)
    expect(await counted).not.toHaveProperty('uncounted')
    expect(await stage.shaper.tryAcquire('a', MISTYPED)).not.toHaveProperty('uncounted')
  })

  it('counts once a limit counts it, for the jobs that wait, too', async () => {
    const stage = new Stage('9, 1/s')
    stage.shaper.work(() => undefined)
    for (const id of ['1', '2', '3']) await stage.shaper.enqueue('a', 0, { id, costs: { tokens: 600 } })
    await stage.pass(1)
    await stage.shaper.limits.set('*', LIMIT)
    expect(await stage.shaper.enqueue('a', 0, { costs: { tokens: 1 } })).not.toHaveProperty('uncounted')
    await stage.pass(30_000)
    // 600 of job 2 leave no room for those of job 3.
    expect(stage.starts.map(([id]) => id)).toEqual(['1', '2'])
  })

  it('is named over HTTP, by the command, and in the sum of many', async () => {
    vi.stubEnv('VELVET_ROPE_TOKEN', undefined)
    const { url } = await openService({ '*': LIMIT })
    const post = async (path: string, body: object) => {
      const headers = { 'content-type': 'application/json' }
      return (await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json()
    }
    const job = { data: 0, ...MISTYPED }
    expect(await post('/v1/buckets/a/jobs', job)).toMatchObject({ uncounted: ['tokns'] })
    expect(await post('/v1/jobs', { jobs: [{ key: 'a', ...job }] })).toMatchObject({
      verdicts: [{ status: 202, uncounted: ['tokns'] }],
    })
    expect(await post('/v1/buckets/a/jobs', { data: 0, costs: { tokens: 1 } })).not.toHaveProperty(
      'uncounted',
    )
    const { stdout } = await run('enqueue', 'a', '0', '--cost-of', 'tokns=900', '--url', url)
    expect(stdout).toMatch(/^accepted .*; no quota of the limit counts tokns\n$/)
  })
})
