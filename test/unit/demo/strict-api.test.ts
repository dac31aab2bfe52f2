import { afterEach, describe, expect, it } from 'vitest'
import { MILLISECOND } from '../../../src/core/duration.ts'
import { parseLimit } from '../../../src/core/limit.ts'
import type { Account } from '../../../src/demo/account.ts'
import { ApiClient } from '../../../src/demo/api-client.ts'
import { waitUntil } from '../../../src/demo/bursts.ts'
import { type ApiCall, StrictApi } from '../../../src/demo/strict-api.ts'

const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each.close()
})

function account(key: string, limit: string): Account {
  return { key, limit: parseLimit(limit), bursts: [] }
}

async function listen(...accounts: readonly Account[]) {
  const calls: ApiCall[] = []
  const api = await StrictApi.listen({ accounts, slack: 0.1, onCall: (call) => void calls.push(call) })
  const client = new ApiClient(api.port)
  open.push(client, api)
  await client.warmUp()
  return { client, calls, port: api.port }
}

describe('the strict API', () => {
  it('refuses a call that comes too soon, and does not affect other accounts', async () => {
    const { client, calls } = await listen(account('a', '1, 1/s'), account('b', '1, 1/s'))
    expect(await client.call('a')).toBe(202)
    expect(await client.call('a')).toBe(429)
    expect(await client.call('b')).toBe(202)
    expect(calls.map(({ key, isRefused }) => [key, isRefused])).toEqual([
      ['a', false],
      ['a', true],
      ['b', false],
    ])
  })

  it('accepts the next call after nine tenths of the interval, counted from a refused one too', async () => {
    const { client, calls } = await listen(account('a', '1, 10/s'))
    await client.call('a')
    await client.call('a')
    await waitUntil(calls[1]!.at + 90 * MILLISECOND)
    expect(await client.call('a')).toBe(202)
  })

  it('counts only the calls of accounts', async () => {
    const { client, calls, port } = await listen(account('a', '1, 1/s'))
    expect(await client.call('unknown')).toBe(404)
    expect((await fetch(`http://127.0.0.1:${port}/status`)).status).toBe(204)
    expect(calls).toEqual([])
    expect(client.underWay).toBe(0)
  })
})
