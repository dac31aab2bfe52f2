import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** Seconds. */
const BRIEF = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
const LAGS = [0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30]
const WAITS = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 21_600]
const RUNS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600]
/** No limit allows a gap below 0.75, unless its interval is under 1 ms. */
const RATIOS = [
  0.5, 0.74, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 1, 1.005, 1.01, 1.02, 1.05, 1.1, 1.25, 1.5, 2, 5,
]

/** All metrics, in seconds and plain units. No label contains a key; `pattern` is that of the rule that applies. */
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
      'Admission verdicts: accepted, or the reason of the rejection (full, deadline, paused, too-costly)',
      ['pattern', 'outcome'],
    ),
    meterFills: counter(
      'meter_fills_total',
      'Fills of meters: accepted, or the reason of the refusal (full, quota, blocked, never-fits)',
      ['pattern', 'outcome'],
    ),
    departures: counter('departures_total', 'Handlers started', ['pattern']),
    lag: histogram('departure_lag_seconds', 'How long after its slot a handler started', LAGS, ['pattern']),
    gapRatio: histogram(
      'gap_ratio',
      'Time between two starts of a bucket / (interval x cost), if a job was waiting; at least 1, minus the tolerance',
      RATIOS,
      ['pattern'],
    ),
    lateStarts: counter(
      'late_starts_total',
      'Slots missed because no handler could start: moved, their time lost',
    ),
    wait: histogram('wait_seconds', 'Time from admission to first start', WAITS, ['pattern']),
    waiting: gauge('waiting', 'Waiting cost units, over all live buckets', ['pattern']),
    capacity: gauge('capacity', 'Cost units that may wait, over all live buckets', ['pattern']),
    fillMax: gauge('fill_ratio_max', 'Share of the capacity that is taken in the fullest bucket', [
      'pattern',
    ]),
    oldestWait: gauge('oldest_wait_seconds', 'Time that the oldest job has waited', ['pattern']),
    held: gauge(
      'held_buckets',
      'Live buckets in which jobs wait, by what the next one waits for: pace, quota or places; only under limits of several parts',
      ['pattern', 'part'],
    ),
    quotaMax: gauge('quota_used_ratio_max', 'Share of the quota of which most is used, in any live bucket', [
      'pattern',
    ]),
    places: gauge('places', 'Jobs that may run at once, over all live buckets', ['pattern']),
    placesTaken: gauge('places_taken', 'Places that are taken, over all live buckets', ['pattern']),
    buckets: gauge('buckets', 'Live buckets', ['state']),
    families: gauge('families', 'Live totals', ['pattern']),
    familyWaiting: gauge('family_waiting', 'Cost units that wait below totals, over all live totals', [
      'pattern',
    ]),
    familyCapacity: gauge('family_capacity', 'Cost units that may wait below totals, over all live totals', [
      'pattern',
    ]),
    familyFillMax: gauge(
      'family_fill_ratio_max',
      'Share of the capacity that is taken in the fullest total',
      ['pattern'],
    ),
    heldFamilies: gauge(
      'held_families',
      'Live totals that hold the next job below them, by the part of their limit that does: pace, quota or places',
      ['pattern', 'part'],
    ),
    familyQuotaMax: gauge(
      'family_quota_used_ratio_max',
      'Share of the quota of which most is used, in any live total',
      ['pattern'],
    ),
    familyPlaces: gauge('family_places', 'Jobs that may run at once below totals, over all live totals', [
      'pattern',
    ]),
    familyPlacesTaken: gauge('family_places_taken', 'Places of totals that are taken, over all live totals', [
      'pattern',
    ]),
    familyRefusals: counter(
      'family_refusals_total',
      'Jobs that a total refused, by the reason (full, deadline, paused, too-costly); velvet_rope_admissions_total counts them by the pattern of their key',
      ['pattern', 'outcome'],
    ),
    inflight: gauge('handlers_inflight', 'Handlers running in this process'),
    handlerDuration: histogram('handler_duration_seconds', 'How long handlers took', RUNS, ['outcome']),
    handoffs: counter(
      'handoffs_total',
      'Jobs handed over to workers, or not handed over because of an error',
      ['outcome'],
    ),
    leader: gauge(
      'scheduler_leader',
      'Shards for which the scheduler of this process was elected at its last pass; for an idle line it may be several',
      ['shaper'],
    ),
    pass: histogram('scheduler_pass_seconds', 'Duration of a scheduler pass', BRIEF),
    script: histogram('redis_script_seconds', 'Redis scripts, from call to reply', BRIEF, ['script']),
    redisErrors: counter('redis_errors_total', 'Failed calls to Redis, and outages', ['kind']),
    forwardResponses: counter('forward_responses_total', 'Responses to forwarded requests', ['status_class']),
    configReloads: counter('config_reloads_total', 'Reloads of the configuration', ['outcome']),
    buildInfo: gauge('build_info', 'Always 1', ['version', 'node', 'backend']),
  }
}

export type Instruments = ReturnType<typeof createInstruments>
