import { expect, onTestFinished, test, vi } from 'vitest'
import { BackendUnavailableError } from '../../../../src/core/errors.ts'
import type { HandedTurn } from '../../../../src/redis/transport/inboxes.ts'
import type { Delivery } from '../../../../src/redis/transport/transport.ts'
import { TurnInbox } from '../../../../src/redis/transport/turn-inbox.ts'

const turn = (id: string, key = 'k'): HandedTurn => ({ id, epoch: 1, key })

/** A store that is asked by several shards, and answers when a test says so. */
class Source {
  readonly asked: number[] = []
  readonly delivered: Delivery[] = []
  readonly errors: string[] = []
  readonly inbox: TurnInbox
  readonly #waiting: { resolve(turns: HandedTurn[]): void; reject(error: Error): void }[][]
  #onAsked: (() => void) | undefined

  constructor(shards = 1) {
    this.#waiting = Array.from({ length: shards }, () => [])
    const next = (shard: number) =>
      new Promise<HandedTurn[]>((resolve, reject) => {
        this.asked.push(shard)
        this.#waiting[shard]!.push({ resolve, reject })
        this.#onAsked?.()
      })
    this.inbox = new TurnInbox(shards, next, {
      onDelivery: async (handed) => void this.delivered.push(handed),
      onError: (error) => void this.errors.push(error.message),
    })
    onTestFinished(() => this.close())
  }

  /** Answers the question of a shard, and waits for the next one. */
  async answer(shard: number, how: HandedTurn[] | Error): Promise<void> {
    const asked = new Promise<void>((resolve) => {
      this.#onAsked = resolve
    })
    this.#settle(shard, how)
    await asked
  }

  async close(): Promise<void> {
    await this.inbox.stop()
    for (const shard of this.#waiting.keys()) this.#settle(shard, new Error('stopped'))
    await this.inbox.close()
  }

  #settle(shard: number, how: HandedTurn[] | Error): void {
    for (const { resolve, reject } of this.#waiting[shard]!.splice(0)) {
      if (how instanceof Error) reject(how)
      else resolve(how)
    }
  }
}

const away = () => new BackendUnavailableError('Redis is unavailable: not connected')

test('asks for each shard, time and again, and delivers what comes with its shard and in its order', async () => {
  const source = new Source(3)
  expect(source.asked).toEqual([0, 1, 2])
  await source.answer(1, [turn('~c~1'), turn('~c~2', 'k 2')])
  await source.answer(1, [])
  await source.answer(2, [turn('~c~3')])
  expect(source.delivered).toEqual([
    { id: '~c~1', epoch: 1, key: 'k', shard: 1 },
    { id: '~c~2', epoch: 1, key: 'k 2', shard: 1 },
    { id: '~c~3', epoch: 1, key: 'k', shard: 2 },
  ])
  expect(source.asked).toEqual([0, 1, 2, 1, 1, 2])
})

test('an outage is reported once, and retried after a while; the next outage is reported anew', async () => {
  const source = new Source()
  for (let tries = 0; tries < 3; tries++) await source.answer(0, away())
  expect(source.errors).toEqual(['Redis is unavailable: not connected'])
  await source.answer(0, [turn('~c~1')])
  expect(source.delivered).toHaveLength(1)
  await source.answer(0, away())
  expect(source.errors).toHaveLength(2)
})

test('stopped while it waits it reports nothing of the wait that was broken off, and asks no more', async () => {
  const source = new Source(2)
  await source.close()
  await source.close()
  expect([source.asked, source.errors]).toEqual([[0, 1], []])
})

test('stopped in the pause after a failure it does not wait for its end', async () => {
  const source = new Source()
  for (let tries = 0; tries < 4; tries++) await source.answer(0, away())
  // The fifth pause would never end.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const failed = new Promise<void>((resolve) => setImmediate(resolve))
  void source.answer(0, away())
  await failed
  await source.close()
  expect(source.asked).toHaveLength(5)
})

test('what came with the stop is delivered: its owner gives it back', async () => {
  const source = new Source()
  const stopped = source.inbox.stop()
  void source.answer(0, [turn('~c~1')])
  await stopped
  await source.inbox.close()
  expect(source.delivered).toMatchObject([{ id: '~c~1' }])
})
