import { MockAgent, request } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { shapedFetch, type TurnOptions, turnInterceptor } from '../../../src/fetch.ts'
import { Stage } from '../../support/stage.ts'

const URL_A = 'https://a.example/x'

/** Sends requests that say how many tokens they may take through a shaped fetch, or through undici. */
function staged(through: string, options: TurnOptions) {
  const stage = new Stage('9, 10/s, 100 tokens/minute 10 each')
  const far = async (_: string, _init: RequestInit) => new Response('yes')
  const used = async () => (await stage.shaper.inspect('k'))?.quotas?.[0]?.used
  if (through === 'shapedFetch') {
    const fetch = shapedFetch(stage.shaper, { key: 'k', fetch: far, ...options })
    return { stage, used, send: (headers: Record<string, string>) => fetch(URL_A, { headers }) }
  }
  const agent = new MockAgent()
  onTestFinished(() => agent.close())
  agent.get('https://a.example').intercept({ path: '/x' }).reply(200, 'yes').persist()
  const dispatcher = agent.compose(turnInterceptor(stage.shaper, { key: 'k', ...options }))
  return { stage, used, send: (headers: Record<string, string>) => request(URL_A, { dispatcher, headers }) }
}

describe.each(['shapedFetch', 'turnInterceptor'])('costs of %s', (through) => {
  it('are those of the options', async () => {
    const { stage, used, send } = staged(through, { costs: { tokens: 30 } })
    void send({})
    await stage.pass(0)
    expect(await used()).toBe(30)
  })

  it('are what a function of the request returns, and what the limit says where that is nothing', async () => {
    const costs: TurnOptions['costs'] = ({ headers }) => {
      const tokens = headers.get('x-tokens')
      return tokens === null ? undefined : { tokens: Number(tokens) }
    }
    const { stage, used, send } = staged(through, { costs })
    void send({ 'x-tokens': '45' })
    void send({})
    await stage.pass(1_000)
    expect(await used()).toBe(45 + 10)
    await expect(send({ 'x-tokens': '1.5' })).rejects.toThrow(
      'acquire: expected costs.tokens to be a whole number',
    )
    expect((await stage.shaper.audit()).admitted).toBe(2)
  })

  it.each([
    [{ tokens: 0 }, 'expected costs.tokens to be a whole number from 1 to 1000000000, got: 0'],
    [
      'tokens=5',
      'expected costs to be an object such as { tokens: 1200 } or a function that returns one, got: "tokens=5"',
    ],
  ])('are refused: %j', (costs, message) => {
    expect(() => staged(through, { costs } as TurnOptions)).toThrow(`${through}: ${message}`)
  })
})
