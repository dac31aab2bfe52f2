import { payload } from '../burst.ts'
import type { Handed, Producer } from '../products/redis/product.ts'

/** Hands jobs over one by one, key by key in turn; at most `width` are on their way to Redis at once. */
export async function handSingly(
  producer: Producer,
  keys: readonly string[],
  jobs: number,
  width: number,
): Promise<void> {
  let number = 0
  const lane = async () => {
    while (number < jobs) {
      const job = number++
      await producer.enqueue(keys[job % keys.length]!, payload(job))
    }
  }
  await Promise.all(Array.from({ length: width }, lane))
}

/** Hands jobs over `size` to a call, one call after the other. */
export async function handInBatches(
  producer: Producer,
  keys: readonly string[],
  jobs: number,
  size: number,
): Promise<void> {
  if (producer.enqueueMany === undefined) throw new Error('this product has no call for many jobs')
  for (let from = 0; from < jobs; from += size) {
    const length = Math.min(size, jobs - from)
    await producer.enqueueMany(
      Array.from(
        { length },
        (_, index): Handed => [keys[(from + index) % keys.length]!, payload(from + index)],
      ),
    )
  }
}
