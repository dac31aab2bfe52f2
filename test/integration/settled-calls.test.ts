import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent, request } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import { shapedFetch, turnInterceptor } from '../../src/fetch.ts'
import { Shaper } from '../../src/index.ts'
import { redisAddress, uniquePrefix } from '../support/redis-server.ts'

const settle = { tokens: 'usage.total_tokens' }

test.each(['', ', 1 at once'])(
  'on Redis, calls of all kinds are settled with what they counted, under a limit with "%s"',
  async (places) => {
    const api = createServer((_, response) => response.end('{"usage":{"total_tokens":100}}'))
    await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void api.close())
    const url = `http://127.0.0.1:${(api.address() as AddressInfo).port}/`
    const limits = { '*': `50, 100/s, 1000 tokens/hour 900 each${places}` }
    const shaper = new Shaper('calls', { limits, connection: redisAddress(), prefix: uniquePrefix() })
    onTestFinished(() => shaper.close())
    const errors: Error[] = []
    shaper.on('error', (error) => void errors.push(error))
    const settled: unknown[] = []
    shaper.on('settled', ({ amounts }) => void settled.push(amounts))
    const agent = new Agent()
    onTestFinished(() => agent.destroy())

    const turn = { key: 'k', costs: { tokens: 600 } }
    const fetch = shapedFetch(shaper, { ...turn, settle })
    const dispatcher = agent.compose(turnInterceptor(shaper, { ...turn, settle }))
    const wrapped = shaper.wrap(async (tokens: number) => ({ tokens }), {
      ...turn,
      settle: ({ tokens }) => ({ tokens }),
    })
    // By their estimates one of them would start in an hour.
    const answers = await Promise.all([
      fetch(url).then((answer) => answer.json()),
      request(url, { dispatcher }).then(({ body }) => body.json()),
      wrapped(100),
    ])
    expect(answers).toEqual([
      { usage: { total_tokens: 100 } },
      { usage: { total_tokens: 100 } },
      { tokens: 100 },
    ])
    await expect.poll(() => settled).toEqual([{ tokens: 100 }, { tokens: 100 }, { tokens: 100 }])
    await expect.poll(async () => (await shaper.inspect('k'))?.places?.taken ?? 0).toBe(0)
    expect((await shaper.inspect('k'))?.quotas).toMatchObject([{ used: 300 }])
    expect(errors).toEqual([])
  },
)
