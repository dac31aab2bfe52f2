import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Enqueue, Pace, Payload, Product, Start } from './products/product.ts'

/** Jobs that a producer hands over before it lets the process see to other things. */
const PER_TURN = 1_000

/** How far the handlers have come. */
export interface Progress {
  /** Jobs that have started so far. */
  readonly count: number
  /** Resolves when so many have started. */
  started(wanted: number): Promise<void>
}

/** A product, open, with a handler that only counts. */
export interface Stage extends Progress {
  readonly enqueue: Enqueue
}

/** A handler that only counts; `onStart` is called inside it, first thing. */
export function countStarts(onStart: (key: string) => void = ignore): Progress & { readonly start: Start } {
  const progress = new EventTarget()
  let count = 0
  let awaited = Number.POSITIVE_INFINITY
  return {
    start(key) {
      onStart(key)
      if (++count === awaited) progress.dispatchEvent(new Event('reached'))
    },
    get count() {
      return count
    },
    async started(wanted) {
      awaited = wanted
      if (count < wanted) await once(progress, 'reached')
    },
  }
}

/** Opens a product; `onStart` is called inside the handler, first thing. */
export function openStage(product: Product, pace: Pace, onStart?: (key: string) => void): Stage {
  const counter = countStarts(onStart)
  const enqueue = product.open(pace, counter.start)
  return {
    enqueue,
    get count() {
      return counter.count
    },
    started: counter.started,
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
