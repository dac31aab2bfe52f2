import { countStarts, type Progress } from '../burst.ts'
import type { Producer, RedisProduct, Setup } from '../products/redis/product.ts'

/** A product over Redis, open in this process, with a handler that only counts. */
export interface RedisStage extends Progress {
  readonly producer: Producer
}

/** Producer and worker in this process; `onStart` is called inside the handler, first thing. */
export async function openRedisStage(
  product: RedisProduct,
  setup: Setup,
  onStart?: (key: string) => void,
): Promise<RedisStage> {
  const counter = countStarts(onStart)
  await product.work?.(setup, counter.start)
  return {
    producer: await product.produce(setup, counter.start),
    get count() {
      return counter.count
    },
    started: counter.started,
  }
}

/** A producer without a consumer. */
export function openProducer(product: RedisProduct, setup: Setup): Promise<Producer> {
  return product.produce(setup, () => undefined)
}
