import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** Seconds. */
const BRIEF = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
const LAGS = [0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30]
const WAITS = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 21_600]
const RUNS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600]
/** No limit tolerates a gap below 0.75, unless its interval is under 1 ms. */
const RATIOS = [
  0.5, 0.74, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 1, 1.005, 1.01, 1.02, 1.05, 1.1, 1.25, 1.5, 2, 5,
]

/** Every metric: seconds and plain units; no label ever holds a key, a `pattern` is that of the rule that governs. */
export function createInstruments(registry: Registry) {
  const registers = [registry]
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter({ name: `velvet_rope_${name}`, help, labelNames, registers })
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Gauge({ name: `velvet_rope_${name}`, help, labelNames, registers })
  const histogram = <Label extends string>(
    name: string,
    help: string,
    buckets: readonly number[],
    labelNames: readonly Label[] = [],
  ) => new Histogram({ name: `velvet_rope_${name}`, help, labelNames, buckets: [...buckets], registers })
  return {
    admissions: counter(
      'admissions_total',
      'Verdicts at the rope: accepted, or why refused (full, deadline, paused, too-costly)',
      ['pattern', 'outcome'],
    ),
    meterFills: counter(
      'meter_fills_total',
      'Fills of meters: accepted, or why refused (full, blocked, never-fits)',
      ['pattern', 'outcome'],
    ),
    departures: counter('departures_total', 'Handlers started', ['pattern']),
    lag: histogram('departure_lag_seconds', 'How long after its slot a handler started', LAGS, ['pattern']),
    gapRatio: histogram(
      'gap_ratio',
      'Time between two starts of a bucket / interval x cost, where somebody waited; less tolerance, 1 or more',
      RATIOS,
      ['pattern'],
    ),
    lateStarts: counter('late_starts_total', 'Slots that came in vain: moved, their time lost'),
    wait: histogram('wait_seconds', 'From the admission to the first start', WAITS, ['pattern']),
    waiting: gauge('waiting', 'Cost units that wait, over all live buckets', ['pattern']),
    capacity: gauge('capacity', 'Cost units that may wait, over all live buckets', ['pattern']),
    fillMax: gauge('fill_ratio_max', 'Share of its capacity that is taken in the fullest bucket', [
      'pattern',
    ]),
    oldestWait: gauge('oldest_wait_seconds', 'How long the one who waits longest has waited', ['pattern']),
    buckets: gauge('buckets', 'Live buckets', ['state']),
    inflight: gauge('handlers_inflight', 'Handlers that run in this process'),
    handlerDuration: histogram('handler_duration_seconds', 'How long handlers took', RUNS, ['outcome']),
    handoffs: counter('handoffs_total', 'Jobs handed over to workers, or not, because of an error', [
      'outcome',
    ]),
    leader: gauge(
      'scheduler_leader',
      'Shards that the scheduler of this process was elected for when it last looked; of an idle line it may be several',
      ['shaper'],
    ),
    pass: histogram('scheduler_pass_seconds', 'How long a scheduler looked for what is due', BRIEF),
    script: histogram('redis_script_seconds', 'Scripts of Redis, from the call to the answer', BRIEF, [
      'script',
    ]),
    redisErrors: counter('redis_errors_total', 'Calls of Redis that failed, and outages', ['kind']),
    forwardResponses: counter('forward_responses_total', 'Answers to forwarded requests', ['status_class']),
    configReloads: counter('config_reloads_total', 'Times that the configuration was read again', [
      'outcome',
    ]),
    buildInfo: gauge('build_info', 'Always 1', ['version', 'node', 'backend']),
  }
}

export type Instruments = ReturnType<typeof createInstruments>
