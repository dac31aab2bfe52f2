import { MockAgent, request } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { shapedFetch, type TurnOptions, turnInterceptor } from '../../../src/fetch.ts'
import type { AcquireOptions } from '../../../src/index.ts'
import { Stage } from '../../support/stage.ts'

const URL_A = 'https://a.example/x'

describe('holdMs of a request', () => {
  it.each<[string, TurnOptions, number]>([
    ['ends the hold of an answer that hangs', { holdMs: 2_000 }, 2_000],
    ['is ten minutes by default', {}, 600_000],
  ])('%s', async (_, options, holdMs) => {
    const stage = new Stage('9, 10/s, 1 at once')
    const expired: string[] = []
    stage.shaper.on('holdExpired', ({ key }) => expired.push(key))
    let sent = 0
    const far = (_: string) => {
      sent++
      return new Promise<Response>(() => undefined)
    }
    const fetch = shapedFetch(stage.shaper, { key: 'k', fetch: far, ...options })
    void fetch(URL_A)
    void fetch(URL_A)
    await stage.pass(holdMs - 1)
    expect([sent, expired]).toEqual([1, []])
    await stage.pass(1)
    expect([sent, expired]).toEqual([2, ['k']])
  })

  it('is of the interceptor for undici, too', async () => {
    const { shaper } = new Stage('9, 10/s, 1 at once')
    const asked: AcquireOptions[] = []
    const acquire: typeof shaper.acquire = (key, options = {}) => {
      asked.push(options)
      return shaper.acquire(key, options)
    }
    const giver = { acquire, freeze: shaper.freeze.bind(shaper) }
    const agent = new MockAgent()
    onTestFinished(() => agent.close())
    agent.get('https://a.example').intercept({ path: '/x' }).reply(200, 'yes')
    const dispatcher = agent.compose(turnInterceptor(giver, { key: 'k', holdMs: 2_000 }))
    const answer = request(URL_A, { dispatcher })
    await expect.poll(() => asked.length).toBe(1)
    expect(asked[0]).toMatchObject({ holdMs: 2_000 })
    void answer.catch(() => undefined)
  })

  it('that is no time is refused', () => {
    const { shaper } = new Stage('9, 10/s')
    expect(() => shapedFetch(shaper, { holdMs: 0 })).toThrow('shapedFetch: expected holdMs to be')
    expect(() => turnInterceptor(shaper, { holdMs: -1 })).toThrow('turnInterceptor: expected holdMs to be')
  })
})
