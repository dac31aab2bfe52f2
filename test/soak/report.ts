import { dice } from '../support/campaign/dice.ts'
import type { ProcessSample, SoakSample } from './plan.ts'
import type { Slope } from './slope.ts'
import { slopeOf } from './slope.ts'
import type { SoakResult } from './soak.ts'

/** Of a run, the first part is not judged: caches fill, and code is compiled. */
const SKIPPED = 0.25
const MIB = 1_048_576
/** MiB an hour that a heap may seem to grow. */
const MOST_HEAP = 1
/** Below, heaps are reported and not judged: the noise is larger than what is looked for. */
const SHORTEST_MINUTES = 20
/** Of the memory of Redis before; and what its allocator may round; bytes. */
const MOST_MEMORY = 0.02
const ROUNDED = 8_192
/** Keys to name when they take more. */
const MOST_NAMED = 6

export interface Report {
  /** MiB an hour, by process. */
  readonly heaps: Readonly<Record<string, Slope>>
  readonly redis: Slope
  /** What is not as it was, or grows. */
  readonly faults: readonly string[]
}

/** Judges the samples of a soak. A slope counts where it is larger than allowed by more than its noise. */
export function reportOf(result: SoakResult): Report {
  const { before, after, left, minutes, samples } = result
  const from = samples[Math.floor(samples.length * SKIPPED)]?.at ?? 0
  const judged = samples.filter(({ at }) => at >= from)
  const random = dice(result.seed)
  const slope = (readingOf: (sample: SoakSample) => number | undefined): Slope =>
    slopeOf(
      judged.flatMap((sample) => {
        const value = readingOf(sample)
        return value === undefined ? [] : [[sample.at / 3_600, value / MIB] as const]
      }),
      random,
    )
  const lasting = Object.keys(after.processes).filter((name) => name in before.processes)
  const heaps = Object.fromEntries(
    lasting.map((name) => [name, slope(({ processes }) => processes[name]?.heap)]),
  )
  const redis = slope((sample) => sample.redis?.usedMemory)
  const faults: string[] = result.breaches === undefined ? [] : [result.breaches]
  for (const [name, { perUnit, noise }] of Object.entries(heaps)) {
    if (minutes < SHORTEST_MINUTES) continue
    if (perUnit - noise > MOST_HEAP)
      faults.push(
        `the heap of ${name} grows by ${perUnit.toFixed(2)} MiB/h, give or take ${noise.toFixed(2)}`,
      )
  }
  for (const name of lasting) faults.push(...handlesOf(name, before.processes[name]!, after.processes[name]!))
  const [was, is] = [bytesOfKeys(before), bytesOfKeys(after)]
  if (!(is - was <= was * MOST_MEMORY + ROUNDED))
    faults.push(`the keys in Redis take ${is} bytes, before: ${was}: ${growthOf(before, after)}`)
  if (left.buckets > 0) faults.push(`${left.buckets} buckets are left`)
  if (left.strays.length > 0) faults.push(`keys without an owner: ${left.strays.join(', ')}`)
  return { heaps, redis, faults }
}

function handlesOf(name: string, before: ProcessSample, after: ProcessSample): string[] {
  return after.handles > before.handles
    ? [`${name} has ${after.handles} handles, before: ${before.handles}`]
    : []
}

/** Of what Redis holds for us. Its own tables, such as that of the scripts that were called so far, are not counted. */
function bytesOfKeys({ redis }: SoakSample): number {
  if (redis?.byKey === undefined) return Number.NaN
  return Object.values(redis.byKey).reduce((sum, bytes) => sum + bytes, 0)
}

/** The keys that grew most, by name. */
function growthOf({ redis: before }: SoakSample, { redis: after }: SoakSample): string {
  const grown = Object.entries(after?.byKey ?? {}).map(([name, is]) => {
    const was = before?.byKey?.[name] ?? 0
    return { by: is - was, text: `${name} ${was} to ${is}` }
  })
  const most = grown.sort((a, b) => b.by - a.by).slice(0, MOST_NAMED)
  return most.map(({ text }) => text).join(', ')
}

/** What a person reads. */
export function render(result: SoakResult, { heaps, redis, faults }: Report): string {
  const { before, after, samples, admitted, starts, seed, minutes } = result
  const inMiB = (bytes: number | undefined) => ((bytes ?? Number.NaN) / MIB).toFixed(2)
  const slopes = ({ perUnit, noise }: Slope) => `${perUnit.toFixed(2)} ± ${noise.toFixed(2)} MiB/h`
  const rows = Object.entries(heaps).map(([name, slope]) => {
    const [was, is] = [before.processes[name], after.processes[name]]
    const lag = Math.max(...samples.map(({ processes }) => processes[name]?.lagMs ?? 0))
    return `  ${name}: heap ${inMiB(was?.heap)} -> ${inMiB(is?.heap)} MiB, ${slopes(slope)}; code ${inMiB(was?.code)} -> ${inMiB(is?.code)}; RSS ${inMiB(was?.rss)} -> ${inMiB(is?.rss)}; handles ${was?.handles} -> ${is?.handles}; worst lag ${lag.toFixed(0)} ms`
  })
  return [
    `soak of ${minutes} minutes, seed ${seed}: ${admitted} jobs admitted, ${starts} starts, ${result.faults.length} faults`,
    ...rows,
    `  Redis: ${inMiB(before.redis?.usedMemory)} -> ${inMiB(after.redis?.usedMemory)} MiB, ${slopes(redis)}; ${before.redis?.keys} keys of ${bytesOfKeys(before)} bytes -> ${after.redis?.keys} of ${bytesOfKeys(after)}`,
    faults.length === 0
      ? '  everything is back where it was'
      : faults.map((fault) => `  ${fault}`).join('\n'),
  ].join('\n')
}
