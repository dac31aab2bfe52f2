import { setTimeout as pass } from 'node:timers/promises'
import type { Attack } from './attack.ts'

const KEYS = 101
const CLIENTS = 10

export const watchedKeys: Attack = {
  name: 'watched-keys',
  what: 'one token asks for what happened last in 101 buckets, again and again',
  async run({ url, token }) {
    const headers = { authorization: `Bearer ${token}` }
    const client = async (first: number) => {
      for (let index = first; ; index = (index + CLIENTS) % KEYS) {
        await fetch(`${url}/v1/buckets/attacker%2F${index}/recent`, { headers })
          .then((response) => response.text())
          .catch(() => undefined)
        await pass(10)
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, (_, first) => client(first)))
  },
  /** Finds out whether the verdict of a job is there a while after the bucket was first asked for. */
  async probe({ url, token }) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const recent = async () => {
      const response = await fetch(`${url}/v1/buckets/victim%2Fwatched/recent`, { headers })
      return (await response.json()) as { readonly verdicts: readonly unknown[] }
    }
    await recent()
    const body = JSON.stringify({ data: 0 })
    await fetch(`${url}/v1/buckets/victim%2Fwatched/jobs`, { method: 'POST', headers, body })
    await pass(2_000)
    return `another token ${(await recent()).verdicts.length > 0 ? 'can' : 'cannot'} watch a bucket`
  },
}
