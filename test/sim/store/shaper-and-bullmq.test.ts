import { Queue, Worker } from 'bullmq'
import { expect, test } from 'vitest'
import { Shaper } from '../../../src/index.ts'
import { atFileEnd } from '../../support/at-file-end.ts'
import { SimRedis } from './sim-redis.ts'
import { bridge, REAL_HOST } from './tcp-bridge.ts'

const JOBS = 200

async function offered(): Promise<string> {
  const { path, close } = await bridge(new SimRedis(REAL_HOST))
  atFileEnd(close)
  return path
}

test('BullMQ takes its jobs through: plain, delayed, by priority, and retried', async () => {
  const connection = { path: await offered(), maxRetriesPerRequest: null }
  const queue = new Queue('plain', { connection })
  const done = new Set<number>()
  const failed = new Set<number>()
  const worker = new Worker(
    'plain',
    async ({ data, attemptsMade }) => {
      if (data.number % 10 === 0 && attemptsMade === 0) {
        failed.add(data.number)
        throw new Error('as planned')
      }
      done.add(data.number)
    },
    { connection, concurrency: 8 },
  )
  try {
    for (let number = 0; number < JOBS; number++) {
      const kind = number % 3 === 0 ? { delay: 20 } : number % 3 === 1 ? { priority: 1 + (number % 5) } : {}
      await queue.add('job', { number }, { ...kind, attempts: 2 })
    }
    await expect.poll(() => queue.getJobCounts()).toMatchObject({ completed: JOBS, failed: 0, active: 0 })
    expect(done.size).toBe(JOBS)
    expect(failed.size).toBe(JOBS / 10)
  } finally {
    await worker.close()
    await queue.close()
  }
})

test('a shaper takes its jobs from their admission to their end, and counts them', async () => {
  const connection = { path: await offered() }
  const shaper = new Shaper<{ number: number }>('sim', { limits: { '*': '500, 200/s' }, connection })
  const order: number[] = []
  try {
    const worker = shaper.work(async ({ data }) => {
      order.push(data.number)
    })
    const answers = await Promise.all(
      Array.from({ length: JOBS }, (_, number) => shaper.enqueue('k', { number })),
    )
    expect(answers.filter(({ accepted }) => accepted)).toHaveLength(JOBS)
    await expect.poll(() => order.length).toBe(JOBS)
    await expect.poll(async () => (await shaper.audit()).ended).toBe(JOBS)
    expect(new Set(order).size).toBe(JOBS)
    await worker.close()
  } finally {
    await shaper.close()
  }
})
