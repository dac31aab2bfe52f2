import { collectDefaultMetrics, Registry } from 'prom-client'
import { z } from 'zod'
import { monotonicNow } from '../core/clock.ts'
import type { RedisErrorKind } from '../core/diagnostics.ts'
import { MILLISECOND } from '../core/duration.ts'
import { parseOptions } from '../core/options.ts'
import type { Shaper } from '../shaper/shaper.ts'
import { Census, type Count } from './census.ts'
import { createInstruments, type Instruments } from './instruments.ts'
import { PatternLabels } from './pattern-labels.ts'
import { watchShaper } from './watch-shaper.ts'

/** Options of `collectMetrics`. */
const metricsOptionsSchema = z.strictObject({
  /** Of the product, for `velvet_rope_build_info`. Default: unknown. */
  version: z.string().default('unknown'),
  /** Whether to tell of the process as well: memory, event loop, garbage collection. Default: no. */
  process: z.boolean().default(false),
  /** Patterns that have a label of their own, 1 to 10,000; the rest count as `other`. Default: 200. */
  maxPatterns: z.int().min(1).max(10_000).default(200),
  /**
   * Whether to count over the live buckets, when somebody asks. On Redis every process can tell of all of them, and of
   * many thousand the count takes a tenth of Redis while it lasts: one or two processes are enough. Default: yes.
   */
  buckets: z.boolean().default(true),
  /** For so long a text is answered again, so that scrapes cannot become a load. Default: 1,000. */
  cacheMs: z.number().min(0).max(60_000).default(1_000),
})

export type MetricsOptions = z.input<typeof metricsOptionsSchema>

const STATUS_CLASSES: readonly string[] = ['2xx', '3xx', '4xx', '5xx', 'error']

const REDIS_ERROR_KINDS: readonly RedisErrorKind[] = ['timeout', 'connection', 'refused', 'foreign', 'other']

/** The metrics of one shaper, in this process. */
export interface Metrics {
  /** What Prometheus reads. It never fails for a store that is away: what only the store knows is left out then. */
  text(): Promise<{ readonly contentType: string; readonly text: string }>
  /** A forwarded request was answered: `2xx` to `5xx`. `error`, and all else: it was not, or with nonsense. */
  readonly forwardResponse: (statusClass: string) => void
  /** The configuration was read again; `failure`: the last good one stays. */
  readonly configReload: (outcome: 'success' | 'failure') => void
  /** Stops watching; safe to call twice. */
  close(): void
}

/**
 * Watches a shaper, and counts. It costs a few microseconds for each admission and each departure, and nothing more
 * until somebody asks for the text. Shapers of one name in one process are counted together, as one.
 *
 * @throws InvalidOptionsError
 */
export function collectMetrics(shaper: Shaper, input: MetricsOptions = {}): Metrics {
  const options = parseOptions(metricsOptionsSchema, input, 'collectMetrics')
  const registry = new Registry()
  const instruments = createInstruments(registry)
  const labels = new PatternLabels(options.maxPatterns, (pattern) => instruments.gapRatio.zero({ pattern }))
  const nameKnown = () => {
    const rules = shaper.limits.list()
    // Of more there is no telling which will be used; those are named as they are met.
    if (rules.length <= options.maxPatterns) for (const { pattern } of rules) labels.of(pattern)
  }
  const census = new Census({
    survey: () => shaper.survey(),
    labelOf: (pattern) => labels.of(pattern),
    pause,
    now: monotonicNow,
  })
  startAtZero(instruments, shaper.backend)
  nameKnown()
  instruments.buildInfo.set({ version: options.version, node: process.version, backend: shaper.backend }, 1)
  if (options.process) collectDefaultMetrics({ register: registry })
  const stop = watchShaper(shaper, instruments, labels)
  let told: Promise<string> | undefined
  let toldUntil = 0

  const render = async () => {
    // Of a shared line other processes may have brought some.
    nameKnown()
    if (options.buckets) showCount(instruments, labels, await census.latest())
    return registry.metrics()
  }
  const cached = () => {
    if (told !== undefined && monotonicNow() < toldUntil) return told
    told = render()
    toldUntil = Number.POSITIVE_INFINITY
    const onDone = () => {
      toldUntil = monotonicNow() + options.cacheMs * MILLISECOND
    }
    told.then(onDone, onDone)
    return told
  }
  return {
    text: async () => ({ contentType: registry.contentType, text: await cached() }),
    forwardResponse: (statusClass) => {
      instruments.forwardResponses.inc({
        status_class: STATUS_CLASSES.includes(statusClass) ? statusClass : 'error',
      })
    },
    configReload: (outcome) => instruments.configReloads.inc({ outcome }),
    close: () => {
      stop()
      census.close()
      registry.clear()
    },
  }
}

/** An alert on an increase does not see the first one of a series that begins with it. */
function startAtZero(
  { lateStarts, handoffs, redisErrors, configReloads }: Instruments,
  backend: Shaper['backend'],
): void {
  lateStarts.inc(0)
  for (const outcome of ['added', 'error']) handoffs.inc({ outcome }, 0)
  for (const outcome of ['success', 'failure']) configReloads.inc({ outcome }, 0)
  if (backend === 'memory') return
  for (const kind of REDIS_ERROR_KINDS) redisErrors.inc({ kind }, 0)
}

/** A pattern that was met and has no live bucket any more holds nothing: that is known, not missing. */
function showCount(instruments: Instruments, labels: PatternLabels, count: Count | undefined): void {
  const { waiting, capacity, fillMax, oldestWait, buckets } = instruments
  for (const gauge of [waiting, capacity, fillMax, oldestWait, buckets]) gauge.reset()
  if (count === undefined) return
  for (const [state, number] of Object.entries(count.states)) buckets.set({ state }, number)
  for (const pattern of new Set([...labels.known, ...count.patterns.keys()])) {
    const of = count.patterns.get(pattern)
    waiting.set({ pattern }, of?.waiting ?? 0)
    capacity.set({ pattern }, of?.capacity ?? 0)
    fillMax.set({ pattern }, of?.fillMax ?? 0)
    oldestWait.set({ pattern }, (of?.oldestWaitMs ?? 0) / 1_000)
  }
}

/** Keeps no process alive, but for one turn. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    if (ms === 0) setImmediate(resolve)
    else setTimeout(resolve, ms).unref()
  })
}
