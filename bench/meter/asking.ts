import type { Ask } from '../products/meter/product.ts'

/** How often the end of the time is checked. */
const LOOK_EVERY = 32

export interface Asking {
  readonly ask: Ask
  readonly keys: readonly string[]
  /** Each asks again when it has its answer. */
  readonly lanes: number
  readonly asks: number
  /** Nobody asks again after so long. */
  readonly atMostMs: number
}

export interface Asked {
  readonly perSecond: number
  readonly asks: number
  readonly accepted: number
}

/** Asks for one unit at a time, key by key in turn. */
export async function askAll({ ask, keys, lanes, asks, atMostMs }: Asking): Promise<Asked> {
  let count = 0
  let accepted = 0
  let isOver = false
  const from = performance.now()
  const lane = async () => {
    while (count < asks && !isOver) {
      const answer = ask(keys[count++ % keys.length]!, 1)
      if ((typeof answer === 'number' ? answer : await answer) === 0) accepted++
      if (count % LOOK_EVERY === 0) isOver = performance.now() - from >= atMostMs
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return { perSecond: (count * 1_000) / (performance.now() - from), asks: count, accepted }
}
