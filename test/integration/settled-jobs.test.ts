import { expect, test } from 'vitest'
import type { ShapedJob, Shaper } from '../../src/index.ts'
import { TurnsStage } from './turns-stage.ts'

interface Start {
  readonly job: ShapedJob
  end(): void
}

/** Calls of a handler that ends when the test says so, in their order. */
class Starts {
  readonly #came: Start[] = []
  readonly #waiting: ((start: Start) => void)[] = []

  readonly handle = (job: ShapedJob) =>
    new Promise<void>((resolve) => {
      const start = { job, end: resolve }
      const waiter = this.#waiting.shift()
      if (waiter === undefined) this.#came.push(start)
      else waiter(start)
    })

  next(): Promise<Start> {
    const came = this.#came.shift()
    return came === undefined
      ? new Promise((resolve) => void this.#waiting.push(resolve))
      : Promise.resolve(came)
  }
}

async function opened(limit: string): Promise<{ stage: TurnsStage; shaper: Shaper; starts: Starts }> {
  const stage = new TurnsStage(limit)
  const [producer, worker] = [await stage.open(), await stage.open()]
  const starts = new Starts()
  worker.work(starts.handle)
  return { stage, shaper: producer, starts }
}

const enqueue = (shaper: Shaper, id: string, tokens: number) =>
  shaper.enqueue('k', id, { id, costs: { tokens } })

test('a handler that settles less than was estimated lets the next job depart at once', async () => {
  const { stage, shaper, starts } = await opened('20, 50/s, 100 tokens/minute 1 each')
  await enqueue(shaper, 'first', 100)
  await enqueue(shaper, 'second', 60)
  const first = await starts.next()
  // The report of the start is on its way.
  await expect.poll(() => shaper.inspect('k')).toMatchObject({ waiting: 1, quotas: [{ used: 100 }] })
  const settledAt = Date.now()
  expect(await first.job.settle({ tokens: 40 })).toBe(true)
  const second = await starts.next()
  expect(second.job.id).toBe('second')
  expect(Date.now() - settledAt).toBeLessThan(30_000)
  expect((await shaper.inspect('k'))?.quotas).toMatchObject([{ used: 100 }])
  first.end()
  second.end()
  await stage.conforms()
  expect(stage.errors).toEqual([])
})

test('a handler that settles more makes later jobs wait until that counts no more', async () => {
  const { stage, shaper, starts } = await opened('20, 50/s, 100 tokens per 3 seconds 10 each')
  await enqueue(shaper, 'first', 10)
  const first = await starts.next()
  expect(await first.job.settle({ tokens: 250 })).toBe(true)
  expect((await shaper.inspect('k'))?.quotas).toMatchObject([{ used: 250 }])
  await enqueue(shaper, 'second', 10)
  const second = await starts.next()
  expect(second.job.departedAt - first.job.departedAt).toBeGreaterThanOrEqual(3_000 - 0.001)
  first.end()
  second.end()
  await stage.conforms()
})

test('a second settlement with another number is false, and so is one after the end; an unknown unit takes nothing', async () => {
  const { stage, shaper, starts } = await opened('20, 50/s, 100 tokens/minute 10 each')
  await enqueue(shaper, 'first', 90)
  const { job, end } = await starts.next()
  await expect(job.settle({ pages: 3 })).rejects.toMatchObject({ code: 'unknown-unit', units: ['tokens'] })
  await expect(job.settle({ tokens: -1 })).rejects.toMatchObject({ code: 'invalid-options' })
  expect(await job.settle({ tokens: 30 })).toBe(true)
  expect(await job.settle({ tokens: 5 })).toBe(false)
  expect((await shaper.inspect('k'))?.quotas).toMatchObject([{ used: 30 }])
  end()
  await enqueue(shaper, 'second', 20)
  const second = await starts.next()
  second.end()
  await expect.poll(async () => (await shaper.job('second'))?.state).toBe('completed')
  expect(await second.job.settle({ tokens: 1 })).toBe(false)
  expect((await shaper.inspect('k'))?.quotas).toMatchObject([{ used: 50 }])
  await stage.conforms()
})

test('each attempt is settled on its own: a retry pays again', async () => {
  const stage = new TurnsStage('20, 50/s, 100 tokens/minute 10 each')
  const shaper = await stage.open()
  const settled: boolean[] = []
  shaper.work(async (job) => {
    settled.push(await job.settle({ tokens: 25 }))
    if (job.attempt === 1) throw new Error('once more')
  })
  const again = { attempts: 2, backoff: { type: 'fixed' as const, delayMs: 1 } }
  await shaper.enqueue('k', 1, { id: 'twice', costs: { tokens: 40 }, ...again })
  await expect.poll(async () => (await shaper.job('twice'))?.state).toBe('completed')
  expect(settled).toEqual([true, true])
  expect((await shaper.inspect('k'))?.quotas).toMatchObject([{ used: 50 }])
})

test('a turn that has ended may be settled, so that times are estimates; a job may not', async () => {
  const { shaper, starts } = await opened('20, 50/s, 100 tokens/minute 1 each')
  const told = (key: string) => shaper.forecast(key, { costs: { tokens: 90 } })
  await enqueue(shaper, 'job', 50)
  const { end } = await starts.next()
  await expect.poll(() => shaper.inspect('k')).toMatchObject({ waiting: 0, running: 1 })
  expect(await told('k')).toMatchObject({ isEstimate: true })
  end()
  await expect.poll(async () => (await shaper.inspect('k'))?.running).toBe(0)
  expect(await told('k')).not.toHaveProperty('isEstimate')
  const turn = await shaper.acquire('t', { costs: { tokens: 50 } })
  await expect.poll(async () => (await shaper.audit()).ended).toBe(2)
  expect(await told('t')).toMatchObject({ isEstimate: true })
  await turn.settle({ tokens: 10 })
  // 10 and 90 have room.
  expect(await told('t')).not.toHaveProperty('isEstimate')
})
