import { collectDefaultMetrics, Registry } from 'prom-client'
import { z } from 'zod'
import { monotonicNow } from '../core/clock.ts'
import type { RedisErrorKind } from '../core/diagnostics.ts'
import { MILLISECOND } from '../core/duration.ts'
import { isTotal } from '../core/key.ts'
import { parseOptions } from '../core/options.ts'
import type { Shaper } from '../shaper/shaper.ts'
import { Census } from './census.ts'
import { createInstruments, type Instruments } from './instruments.ts'
import { PatternLabels } from './pattern-labels.ts'
import { showCount } from './show-count.ts'
import { watchShaper } from './watch-shaper.ts'

/** Options of `collectMetrics`. */
const metricsOptionsSchema = z.strictObject({
  /** Version of the product, for `velvet_rope_build_info`. Default: unknown. */
  version: z.string().default('unknown'),
  /** Whether to include metrics of the process: memory, event loop, garbage collection. Default: false. */
  process: z.boolean().default(false),
  /** Patterns with a label of their own, 1 to 10,000; the others count as `other`. Default: 200. */
  maxPatterns: z.int().min(1).max(10_000).default(200),
  /**
   * Whether to count live buckets and totals on each scrape. On Redis every process can count all of them, and with many thousand
   * the count takes a tenth of Redis while it lasts: one or two processes are enough. Default: true.
   */
  buckets: z.boolean().default(true),
  /** How long a text is reused, in milliseconds, so that scrapes cannot become a load. Default: 1,000. */
  cacheMs: z.number().min(0).max(60_000).default(1_000),
})

export type MetricsOptions = z.input<typeof metricsOptionsSchema>

const STATUS_CLASSES: readonly string[] = ['2xx', '3xx', '4xx', '5xx', 'error']

const REDIS_ERROR_KINDS: readonly RedisErrorKind[] = ['timeout', 'connection', 'refused', 'foreign', 'other']

/** The metrics of one shaper, in this process. */
export interface Metrics {
  /**
   * Returns the text for Prometheus. It does not fail while Redis is unavailable: values that only Redis knows are then
   * left out.
   */
  text(): Promise<{ readonly contentType: string; readonly text: string }>
  /**
   * Counts the response to a forwarded request: `2xx` to `5xx`; `error` and any other text: no or an invalid response.
   */
  readonly forwardResponse: (statusClass: string) => void
  /** Counts a reload of the configuration; `failure`: the last good one stays. */
  readonly configReload: (outcome: 'success' | 'failure') => void
  /** Stops watching; safe to call twice. */
  close(): void
}

/**
 * Collects the metrics of a shaper. It costs a few microseconds per admission and per departure, and nothing else until
 * the text is requested. Shapers with the same name in one process are counted together.
 *
 * @throws InvalidOptionsError
 */
export function collectMetrics(shaper: Shaper, input: MetricsOptions = {}): Metrics {
  const options = parseOptions(metricsOptionsSchema, input, 'collectMetrics')
  const registry = new Registry()
  const instruments = createInstruments(registry)
  const labels = new PatternLabels(options.maxPatterns, (pattern) => instruments.gapRatio.zero({ pattern }))
  const totalLabels = new PatternLabels(options.maxPatterns)
  const nameKnown = () => {
    const patterns = shaper.limits.list().map(({ pattern }) => pattern)
    const ofTotals = patterns.filter(isTotal)
    nameAll(
      labels,
      patterns.filter((pattern) => !isTotal(pattern)),
      options.maxPatterns,
    )
    nameAll(totalLabels, ofTotals, options.maxPatterns)
    hasTotals ||= ofTotals.length > 0
  }
  // Where no rule is one, none is looked for.
  let hasTotals = false
  const census = new Census({
    survey: () => shaper.survey(),
    surveyFamilies: () => (hasTotals ? shaper.surveyFamilies() : none()),
    labels: { ofBuckets: (pattern) => labels.of(pattern), ofTotals: (pattern) => totalLabels.of(pattern) },
    pause,
    now: monotonicNow,
  })
  startAtZero(instruments, shaper.backend)
  nameKnown()
  instruments.buildInfo.set({ version: options.version, node: process.version, backend: shaper.backend }, 1)
  if (options.process) collectDefaultMetrics({ register: registry })
  const stop = watchShaper(shaper, instruments, labels, totalLabels)
  let text: Promise<string> | undefined
  let textUntil = 0

  const render = async () => {
    // On Redis, other processes may have set some.
    nameKnown()
    if (options.buckets) showCount(instruments, { labels, totalLabels }, await census.latest())
    return registry.metrics()
  }
  const cached = () => {
    if (text !== undefined && monotonicNow() < textUntil) return text
    text = render()
    textUntil = Number.POSITIVE_INFINITY
    const onDone = () => {
      textUntil = monotonicNow() + options.cacheMs * MILLISECOND
    }
    text.then(onDone, onDone)
    return text
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

/** An alert on an increase misses the first one of a series that begins with it. */
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

/** With more rules than labels, patterns get theirs as they occur. */
function nameAll(labels: PatternLabels, patterns: readonly string[], most: number): void {
  if (patterns.length <= most) for (const pattern of patterns) labels.of(pattern)
}

async function* none(): AsyncGenerator<never> {}

/** Keeps the process alive for at most one turn. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    if (ms === 0) setImmediate(resolve)
    else setTimeout(resolve, ms).unref()
  })
}
