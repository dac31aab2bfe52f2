import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Shaper } from '../../../src/index.ts'
import { eventually } from '../../support/patience.ts'
import { startRedis } from '../../support/redis-server.ts'
import { post, serve } from './running.ts'

const CLIENTS = 16
const BETWEEN_MS = 20
/** What no client needs to know. */
const INTERNALS = /redis|econn|socket|ioredis|node_modules|\bat \/|\.ts:|\.lua|127\.0\.0\.1|stack|timed out/i

interface Answer {
  readonly id: string
  readonly sentAt: number
  readonly status: number
  readonly body: unknown
}

/** Many concurrent clients that ask again and again, and note every answer. */
function load(url: string) {
  const answers: Answer[] = []
  /** When each client sent the request that it waits for. */
  const pending = new Map<number, number>()
  let isOver = false
  let next = 0
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    while (!isOver) {
      const id = `job-${client}-${next++}`
      const sentAt = performance.now()
      pending.set(client, sentAt)
      const { status, body } = await post(`${url}/v1/buckets/key-${client}/jobs`, { id, data: {} })
      answers.push({ id, sentAt, status, body })
      pending.delete(client)
      await sleep(BETWEEN_MS)
    }
  })
  return {
    answers,
    until: (isSo: (answers: readonly Answer[]) => boolean) =>
      eventually(() => {
        if (!isSo(answers)) throw new Error(`not so yet: ${JSON.stringify(answers.at(-1))}`)
      }),
    /** Resolves when no request is under way that was sent before. */
    answered: (before: number) =>
      eventually(() => {
        if ([...pending.values()].some((sentAt) => sentAt < before)) throw new Error('some are under way')
      }),
    stop: async () => {
      isOver = true
      await Promise.all(clients)
    },
  }
}

test.each([
  { what: 'killed', away: 'kill', back: 'restart' },
  { what: 'stopped in its tracks', away: 'pause', back: 'resume' },
] as const)(
  'Redis is $what under load: 503 while it is away, and 202 when it is back',
  async ({ away, back }) => {
    const redis = await startRedis({ port: 'free', appendonly: 'yes' })
    const service = await serve({ redis: redis.url, limits: { '*': '1000000, 1/s' } })
    const clients = load(service.url)
    await clients.until((answers) => answers.length > 200)

    await redis[away]()
    const awayAt = performance.now()
    await clients.until((answers) => answers.filter(({ status }) => status === 503).length > 100)
    expect((await fetch(`${service.url}/readyz`)).status).toBe(503)
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200)
    expect((await fetch(`${service.url}/metrics`)).status).toBe(200)
    const lastAway = performance.now()
    await clients.answered(lastAway)

    await redis[back]()
    const backAt = performance.now()
    await clients.until((answers) => answers.some(({ sentAt, status }) => sentAt > backAt && status === 202))
    await clients.stop()

    const meanwhile = clients.answers.filter(({ sentAt }) => sentAt > awayAt && sentAt < lastAway)
    const refused = clients.answers.filter(({ status }) => status !== 202)
    expect(new Set(meanwhile.map(({ status }) => status))).toEqual(new Set([503]))
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]))
    for (const { body } of refused) {
      expect(JSON.stringify(body)).not.toMatch(INTERNALS)
      expect(body).toMatchObject({ status: 503, type: expect.stringContaining('temporary-reduced-capacity') })
    }
    // Every job that was reported as admitted is still there.
    await using shaper = new Shaper('main', { limits: { '*': '1000000, 1/s' }, connection: redis.url })
    const accepted = clients.answers.filter(({ status }) => status === 202)
    // One after the other: each has two seconds of its own.
    for (const { id } of accepted) expect(await shaper.job(id)).toBeDefined()
  },
)
