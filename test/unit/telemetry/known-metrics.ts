/** Every metric that is promised, with its type and its labels. */
export const METRICS: Readonly<Record<string, readonly [type: string, ...labels: string[]]>> = {
  velvet_rope_admissions_total: ['counter', 'pattern', 'outcome'],
  velvet_rope_meter_fills_total: ['counter', 'pattern', 'outcome'],
  velvet_rope_departures_total: ['counter', 'pattern'],
  velvet_rope_departure_lag_seconds: ['histogram', 'pattern'],
  velvet_rope_gap_ratio: ['histogram', 'pattern'],
  velvet_rope_late_starts_total: ['counter'],
  velvet_rope_wait_seconds: ['histogram', 'pattern'],
  velvet_rope_waiting: ['gauge', 'pattern'],
  velvet_rope_capacity: ['gauge', 'pattern'],
  velvet_rope_fill_ratio_max: ['gauge', 'pattern'],
  velvet_rope_oldest_wait_seconds: ['gauge', 'pattern'],
  velvet_rope_held_buckets: ['gauge', 'pattern', 'part'],
  velvet_rope_quota_used_ratio_max: ['gauge', 'pattern'],
  velvet_rope_places: ['gauge', 'pattern'],
  velvet_rope_places_taken: ['gauge', 'pattern'],
  velvet_rope_buckets: ['gauge', 'state'],
  velvet_rope_families: ['gauge', 'pattern'],
  velvet_rope_family_waiting: ['gauge', 'pattern'],
  velvet_rope_family_capacity: ['gauge', 'pattern'],
  velvet_rope_family_fill_ratio_max: ['gauge', 'pattern'],
  velvet_rope_held_families: ['gauge', 'pattern', 'part'],
  velvet_rope_family_quota_used_ratio_max: ['gauge', 'pattern'],
  velvet_rope_family_places: ['gauge', 'pattern'],
  velvet_rope_family_places_taken: ['gauge', 'pattern'],
  velvet_rope_family_refusals_total: ['counter', 'pattern', 'outcome'],
  velvet_rope_handlers_inflight: ['gauge'],
  velvet_rope_handler_duration_seconds: ['histogram', 'outcome'],
  velvet_rope_handoffs_total: ['counter', 'outcome'],
  velvet_rope_scheduler_leader: ['gauge', 'shaper'],
  velvet_rope_scheduler_pass_seconds: ['histogram'],
  velvet_rope_redis_script_seconds: ['histogram', 'script'],
  velvet_rope_redis_errors_total: ['counter', 'kind'],
  velvet_rope_forward_responses_total: ['counter', 'status_class'],
  velvet_rope_config_reloads_total: ['counter', 'outcome'],
  velvet_rope_build_info: ['gauge', 'version', 'node', 'backend'],
}

/** Those that a line in memory has nothing to say of. */
export const OF_REDIS = ['velvet_rope_redis_script_seconds', 'velvet_rope_redis_errors_total']

/** The name of a metric that a sample belongs to. */
export function metricOf(sample: string): string {
  const base = sample.replace(/_(?:bucket|sum|count)$/, '')
  return METRICS[base]?.[0] === 'histogram' ? base : sample
}
