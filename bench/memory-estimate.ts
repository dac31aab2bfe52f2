import { Shaper } from '../src/index.ts'
import { Meter } from '../src/meter.ts'
import { heapInUse } from './heap.ts'

/**
 * What the estimate of the heap that a first segment uses is worth: `node --expose-gc --import tsx bench/memory-estimate.ts`, in a
 * checkout. It prints the bytes of the heap for one more of each kind, the estimate, and how much of the truth that is.
 */
interface Kind {
  readonly name: string
  readonly count: number
  add(lines: Lines, n: number): unknown
}

interface Lines {
  readonly shaper: Shaper
  readonly meter: Meter
}

/** One that lives for long: nothing departs meanwhile. */
const LIMITS = { '*': '10000000, 1/h' }
const LONG = 'x'.repeat(200)
const MANY_SEGMENTS = 'x/'.repeat(99)

function textOf(bytes: number, letter = 'x'): string {
  // Not a part of another text, nor a rope of several.
  return JSON.parse(JSON.stringify(letter.repeat(bytes - 2))) as string
}

const job =
  (bytes: number, keyOf: (n: number) => string = () => 'a/one', letter?: string) =>
  ({ shaper }: Lines, n: number) =>
    shaper.enqueue(keyOf(n), textOf(bytes, letter))

async function end({ shaper }: Lines, key: string): Promise<void> {
  const admission = await shaper.enqueue(key, textOf(100))
  if (admission.accepted) await shaper.cancel(admission.id)
}

const KINDS: readonly Kind[] = [
  { name: 'job of 100 B', count: 40_000, add: job(100) },
  { name: 'job of 1 KB', count: 20_000, add: job(1_000) },
  { name: 'job of 100 KB', count: 300, add: job(100_000) },
  { name: 'job of 1 KB, not Latin-1', count: 10_000, add: job(1_000, undefined, 'ж') },
  {
    name: 'job of 100 B with an id',
    count: 30_000,
    add: ({ shaper }, n) => shaper.enqueue('a/one', textOf(100), { id: `order-${n}` }),
  },
  {
    name: 'job of 100 B with settings',
    count: 30_000,
    add: ({ shaper }) => shaper.enqueue('a/one', textOf(100), { attempts: 3, backoff: 100 }),
  },
  { name: 'job of 100 B, a key for each', count: 30_000, add: job(100, (n) => `a/${n}`) },
  { name: 'the same, long keys', count: 30_000, add: job(100, (n) => `a/${n}-${LONG}`) },
  { name: 'ended job of 100 B', count: 30_000, add: (lines) => end(lines, 'a/one') },
  { name: 'the same, a key for each', count: 30_000, add: (lines, n) => end(lines, `a/${n}`) },
  { name: 'paused key', count: 30_000, add: ({ shaper }, n) => shaper.pause(`a/${n}`) },
  { name: 'frozen key', count: 30_000, add: ({ shaper }, n) => shaper.freeze(`a/${n}`, 3_600_000) },
  { name: 'paused key, long', count: 30_000, add: ({ shaper }, n) => shaper.pause(`a/${n}-${LONG}`) },
  {
    name: 'rule by hand',
    count: 1_000,
    add: ({ shaper }, n) => shaper.limits.set(`a/${n}`, '5, 1/s', { by: 'me' }),
  },
  {
    name: 'rule by hand of 100 segments',
    count: 500,
    add: ({ shaper }, n) => shaper.limits.set(`a/${n}/${MANY_SEGMENTS}`.slice(0, -1), '5, 1/s'),
  },
  { name: 'local limit', count: 1_000, add: ({ shaper }, n) => shaper.limits.setLocal(`a/${n}`, '5, 1/s') },
  {
    name: 'local limit of 100 segments',
    count: 500,
    add: ({ shaper }, n) => shaper.limits.setLocal(`a/${n}/${MANY_SEGMENTS}`.slice(0, -1), '5, 1/s'),
  },
  { name: 'key under a local limit, job of 100 B', count: 30_000, add: job(100, (n) => `metered/${n}`) },
  { name: 'meter', count: 30_000, add: ({ meter }, n) => meter.fill(`a/${n}`) },
  { name: 'meter, long key', count: 30_000, add: ({ meter }, n) => meter.fill(`a/${n}-${LONG}`) },
]

console.log('| one more | bytes | estimate | of the truth |\n| --- | --: | --: | --: |')
for (const { name, count, add } of KINDS) {
  const keepAll = { keepFinished: 1_000_000, keepFinishedAtMost: 10_000_000 }
  const lines = {
    shaper: new Shaper('estimate', { limits: LIMITS, jobDefaults: keepAll }),
    meter: new Meter('estimate', { limits: LIMITS }),
  }
  lines.shaper.limits.setLocal('metered', '10000000, 1/h')
  const { shaper, meter } = lines
  const use = () => ['a', 'metered'].reduce((sum, key) => sum + shaper.heap.of(key) + meter.heap.of(key), 0)
  for (let n = 0; n < 100; n++) await add(lines, 1_000_000 + n)
  const [heap, estimate] = [heapInUse(), use()]
  for (let n = 0; n < count; n++) await add(lines, n)
  const truth = (heapInUse() - heap) / count
  const guess = (use() - estimate) / count
  console.log(`| ${name} | ${truth.toFixed(0)} | ${guess.toFixed(0)} | ${(guess / truth).toFixed(2)} |`)
}
process.exit()
