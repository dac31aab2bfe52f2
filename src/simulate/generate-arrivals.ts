import { SECOND } from '../core/duration.ts'
import type { Arrival } from './arrival.ts'
import { seededRandom } from './random.ts'

/**
 * Patterns of generated arrivals:
 *
 * - `steady`: evenly, key after key
 * - `burst`: nothing, then five seconds' worth at the same instant
 * - `poisson`: independently of each other, like many users
 * - `on-off`: as `poisson` at twice the rate for about three seconds, then nothing for about three seconds
 * - `flood`: `poisson` at half the rate for all keys but the first, which sends about as many as they together at one instant, after a tenth
 *   of the time
 */
export const PATTERNS = ['steady', 'burst', 'poisson', 'on-off', 'flood'] as const
export type Pattern = (typeof PATTERNS)[number]

export interface GenerateOptions {
  readonly pattern: Pattern
  readonly seconds: number
  /** Mean arrivals per second, over all keys. */
  readonly rate: number
  /** Number of keys: `key-1`, `key-2`, ... */
  readonly keys: number
  /** How the keys begin, such as `stripe/`. Default: with nothing. */
  readonly prefix?: string
  /** The same seed gives the same arrivals. */
  readonly seed: number
}

const BATCH = 4_096
const BURST_EVERY = 5 * SECOND
const MEAN_PHASE = 3 * SECOND

/** Generates arrivals in batches, each at a whole microsecond so that a file of them loses nothing. */
export function* generateArrivals(options: GenerateOptions): Generator<readonly Arrival[]> {
  const random = seededRandom(options.seed)
  const end = options.seconds * SECOND
  let batch: Arrival[] = []
  let index = 0
  for (const time of times(options, end, random)) {
    if (time >= end) break
    const turn = turnOf(options, time, index++, random)
    batch.push({ at: Math.round(time), key: `${options.prefix ?? ''}key-${turn + 1}`, cost: 1 })
    if (batch.length === BATCH) {
      yield batch
      batch = []
    }
  }
  yield batch
}

function turnOf(
  { pattern, keys, seconds }: GenerateOptions,
  time: number,
  index: number,
  random: () => number,
): number {
  // Taking keys in turn keeps each key of a steady stream steady; other patterns choose at random.
  if (pattern === 'steady') return index % keys
  if (pattern !== 'flood' || keys === 1) return Math.floor(random() * keys)
  return time === floodAt(seconds * SECOND) ? 0 : 1 + Math.floor(random() * (keys - 1))
}

function times(options: GenerateOptions, end: number, random: () => number): Generator<number> {
  const { rate } = options
  switch (options.pattern) {
    case 'steady':
      return steady(rate)
    case 'burst':
      return bursts(rate)
    case 'poisson':
      return poisson(rate, random)
    case 'on-off':
      return onOff(rate, end, random)
    case 'flood':
      return flood(rate, end, random)
  }
}

function* steady(rate: number): Generator<number> {
  for (let index = 0; ; index++) yield (index * SECOND) / rate
}

function* bursts(rate: number): Generator<number> {
  const size = Math.max(1, Math.round((rate * BURST_EVERY) / SECOND))
  const every = (size * SECOND) / rate
  for (let index = 0; ; index++) yield Math.floor(index / size) * every
}

function* poisson(rate: number, random: () => number): Generator<number> {
  let time = 0
  for (;;) {
    time += exponential(SECOND / rate, random)
    yield time
  }
}

function* onOff(rate: number, end: number, random: () => number): Generator<number> {
  let phaseStart = 0
  while (phaseStart < end) {
    const phaseEnd = phaseStart + exponential(MEAN_PHASE, random)
    let time = phaseStart + exponential(SECOND / (2 * rate), random)
    for (; time < phaseEnd; time += exponential(SECOND / (2 * rate), random)) yield time
    phaseStart = phaseEnd + exponential(MEAN_PHASE, random)
  }
}

function* flood(rate: number, end: number, random: () => number): Generator<number> {
  const at = floodAt(end)
  let left = Math.round((rate * end) / SECOND / 2)
  for (const time of poisson(rate / 2, random)) {
    for (; time >= at && left > 0; left--) yield at
    yield time
  }
}

function floodAt(end: number): number {
  return end / 10
}

/** Time to the next of independent events with distance `mean` on average. */
function exponential(mean: number, random: () => number): number {
  return -mean * Math.log(1 - random())
}
