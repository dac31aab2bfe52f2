import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Enqueue, Pace, Payload, Product } from './products/product.ts'

/** Jobs that a producer hands over before it lets the process see to other things. */
const PER_TURN = 1_000

/** A product, open, with a handler that only counts. */
export interface Stage {
  readonly enqueue: Enqueue
  /** Jobs that have started so far. */
  readonly count: number
  /** Resolves when so many have started. */
  started(wanted: number): Promise<void>
}

/** Opens a product; `onStart` is called inside the handler, first thing. */
export function openStage(product: Product, pace: Pace, onStart: (key: string) => void = ignore): Stage {
  const progress = new EventTarget()
  let count = 0
  let awaited = Number.POSITIVE_INFINITY
  const enqueue = product.open(pace, (key) => {
    onStart(key)
    if (++count === awaited) progress.dispatchEvent(new Event('reached'))
  })
  return {
    enqueue,
    get count() {
      return count
    },
    async started(wanted) {
      awaited = wanted
      if (count < wanted) await once(progress, 'reached')
    },
  }
}

/** Lets a burst through and answers when each handler started, key by key, in milliseconds. */
export async function startsOfBurst(
  product: Product,
  pace: Pace,
  keys: readonly string[],
  jobs: number,
): Promise<number[][]> {
  const starts = new Map<string, number[]>(keys.map((key) => [key, []]))
  const stage = openStage(product, pace, (key) => starts.get(key)!.push(performance.now()))
  burst(stage.enqueue, keys, jobs)
  await stage.started(jobs)
  return [...starts.values()]
}

/** The names of so many keys. */
export function keysNamed(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}/${index}`)
}

/** A new one for every job, as a producer would make it. */
export function payload(number: number): Payload {
  return { to: `+1555${number}`, text: 'Your table is ready.' }
}

/** Hands over `jobs` jobs, key by key in turn, all in one go: a burst. */
export function burst(enqueue: Enqueue, keys: readonly string[], jobs: number): void {
  for (let number = 0; number < jobs; number++) void enqueue(keys[number % keys.length]!, payload(number))
}

/** The same without stopping the process: a thousand jobs a turn, and where the product answers, their verdicts. */
export async function feed(enqueue: Enqueue, keys: readonly string[], jobs: number): Promise<void> {
  for (let from = 0; from < jobs; from += PER_TURN) {
    const verdicts: unknown[] = []
    for (let number = from; number < Math.min(from + PER_TURN, jobs); number++) {
      verdicts.push(enqueue(keys[number % keys.length]!, payload(number)))
    }
    await Promise.all(verdicts)
    await nextTurn()
  }
}

function ignore(): void {}
