import { setTimeout as sleep } from 'node:timers/promises'
import { burst } from '../burst.ts'
import { intervalMs } from '../products/product.ts'
import type { RedisProduct, Setup } from '../products/redis/product.ts'
import { openRedisStage } from './stage.ts'

/** A pause in which every line is empty and its last slot has passed. */
const REST_MS = 500

/**
 * Lets a burst through and answers when each handler started, key by key, in milliseconds. Before it comes a smaller
 * burst for the same keys, which is not counted: it warms the code up and opens what a product opens for each key. With
 * no jobs to warm up with the process is cold.
 */
export async function startsOfRedisBurst(
  product: RedisProduct,
  setup: Setup,
  jobs: number,
  warmUpJobs: number,
): Promise<number[][]> {
  const starts = new Map<string, number[]>(setup.keys.map((key) => [key, []]))
  const stage = await openRedisStage(product, setup, (key) => starts.get(key)!.push(performance.now()))
  if (warmUpJobs > 0) {
    burst(stage.producer.enqueue, setup.keys, warmUpJobs)
    await stage.started(warmUpJobs)
    await sleep(REST_MS + intervalMs(setup.pace))
  }
  burst(stage.producer.enqueue, setup.keys, jobs)
  await stage.started(warmUpJobs + jobs)
  return [...starts.values()].map((line) => line.slice(warmUpJobs / setup.keys.length))
}
