import type { Attack } from './attack.ts'

export const streams: Attack = {
  name: 'streams',
  what: '100 streams of events of one token, opened again when they end',
  async run({ url, token }) {
    const headers = { authorization: `Bearer ${token}` }
    const stream = async () => {
      for (;;) {
        const response = await fetch(`${url}/v1/events`, { headers }).catch(() => undefined)
        await response?.text().catch(() => undefined)
        await new Promise((resolve) => setTimeout(resolve, 200))
      }
    }
    await Promise.all(Array.from({ length: 100 }, stream))
  },
  async probe({ url, token }) {
    const response = await fetch(`${url}/v1/events`, { headers: { authorization: `Bearer ${token}` } })
    await response.body?.cancel()
    return `another token ${response.status === 200 ? 'can' : 'cannot'} open a stream`
  },
}
