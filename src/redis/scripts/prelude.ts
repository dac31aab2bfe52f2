import { ROUNDING } from '../../core/bucket.ts'
import { MILLISECOND, SECOND } from '../../core/duration.ts'
import { WEIGHT_PART } from '../../core/fair-queue.ts'
import type { JobState } from '../../core/job.ts'
import { MOST_NOTES, MOST_WATCHED, WATCHED_FOR } from '../../core/line-view.ts'
import * as meter from '../../core/meter.ts'
import { FARTHEST_LOOK } from '../../core/projection.ts'
import { BOUNDARY, FARTHEST_AHEAD, LENGTHS, SUB_WINDOWS } from '../../core/quota.ts'
import { LONGER, MOST_REMEMBERED } from '../../core/remembered.ts'
import { SHARE_OF_ROOM } from '../../core/total-line.ts'
import { FARTHEST_STEP } from '../../core/walk.ts'
import { MOST_NAMED, MOST_READ } from '../../line/job-facts.ts'
import { KEY_TYPES, NUMBERED_KEYS } from './keys.ts'

/** The most jobs or buckets that one call of a script reads, names or changes, so that each call is short. */
export const MOST_PER_CALL = 200
/** The most jobs and turns that one claim hands over, half of them turns: to hand one over takes long. */
export const MOST_PER_CLAIM = MOST_PER_CALL / 2
/** How long a silent process keeps the places of its callers, and the turns that were handed to it. */
export const TURN_LEASE = 3.9 * SECOND
/** How long a turn that must depart at once may take to reach its caller. */
export const TRAVEL = 100 * MILLISECOND
/** The head of a line that has been due for longer was not taken. */
export const LATE = SECOND
/** A bucket with a longer interval needs no runs: its worker has time to ask for each slot. */
const LONGEST_RUN_INTERVAL = 25 * MILLISECOND
/** The most jobs of a run that have not started. */
export const MOST_OF_RUN = 50
/** After a late start that kept its slot, the next keeps at least this share of the interval: starts catch up with the grid gradually. */
export const EVEN = 0.92
/** A table of a time zone begins so long ago, in seconds: the clock of Redis may be set back, and a job may be settled long after its start. */
export const ZONE_BEFORE = 400 * 86_400

/** The states of jobs in the order of the numbers by which Redis keeps them; a job with a slot is `granted`. */
export const STORED_STATES = [
  'waiting',
  'handed',
  'granted',
  'running',
  'retrying',
  'completed',
  'failed',
  'cancelled',
  'expired',
] as const satisfies readonly (JobState | 'granted')[]

/** Constants that the scripts of a shard share with this code. Times are microseconds. */
const SHARD_CONSTANTS = {
  ROUNDING,
  FARTHEST_LOOK,
  MOST_NAMED,
  MOST_READ,
  MOST_PER_CALL,
  MOST_PER_CLAIM,
  WATCHED_FOR,
  MOST_WATCHED,
  MOST_NOTES,
  TURN_LEASE,
  TRAVEL,
  LATE,
  ZONE_BEFORE,
}
/** Those of quotas are fields of one table, to which `lib/quota.lua` adds its functions: scripts have few local variables left. */
const QUOTA_CONSTANTS = { SUB_WINDOWS, BOUNDARY, FARTHEST_AHEAD, FARTHEST_STEP, MOST_REMEMBERED, LONGER }
const METER_CONSTANTS = {
  ROUNDING: meter.ROUNDING,
  LEAST_GROWTH: meter.LEAST_GROWTH,
  LONGEST_STEP_BACK: meter.LONGEST_STEP_BACK,
}

/**
 * What every script of a shard begins with: `K`, the names of its keys, built from the first key that the script gets;
 * `type_of`, what each of them holds; `STATES`; and the shared constants. No script defines them again.
 */
export function shardPrelude({ isReadOnly }: { readonly isReadOnly: boolean }): string {
  const states = STORED_STATES.map((state) => `'${state}'`)
  return [
    namesOfKeys(),
    typesOfKeys(),
    `local STATES = { ${states.join(', ')} }`,
    ...constants(SHARD_CONSTANTS),
    quotaConstants(),
    `local usage = { work = 0, isEnough = false, EVEN = ${EVEN}, RUN_INTERVAL = ${LONGEST_RUN_INTERVAL}, RUN_JOBS = ${MOST_OF_RUN} }`,
    'local forward, loss, entries = {}, {}, {}',
    // What a call knows of totals.
    `local family = { SHARE_OF_ROOM = ${SHARE_OF_ROOM}, WEIGHT_PART = ${WEIGHT_PART}, totals = false, touched = false, unwritten = false, buckets = false, raws = false, horizon = false, isReadOnly = ${isReadOnly} }`,
  ].join('\n')
}

/** What nearly every call names is named at once, any other key when it is first asked for. */
const NAMED_AT_ONCE = [
  'meta',
  'buckets',
  'jobs',
  'states',
  'due',
  'turns',
  'idle',
  'deadlines',
  'leases',
  'wake',
] as const satisfies readonly (keyof typeof KEY_TYPES)[]

function namesOfKeys(): string {
  const atOnce = NAMED_AT_ONCE.map((name) => `${name} = shard .. '${name}'`)
  return [
    'local K = (function(shard)',
    `return setmetatable({ ${atOnce.join(', ')} }, { __index = function(names, name)`,
    `names[name] = shard .. name .. ((${isOneOf(NUMBERED_KEYS)}) and ':' or '')`,
    'return names[name]',
    'end })',
    "end)(KEYS[1] .. ':')",
  ].join('\n')
}

function typesOfKeys(): string {
  const byType = new Map<string, string[]>()
  for (const [name, type] of Object.entries(KEY_TYPES)) byType.set(type, [...(byType.get(type) ?? []), name])
  const cases = [...byType].map(([type, names]) => `if ${isOneOf(names)} then return '${type}' end`)
  return ['local function type_of(name)', ...cases, 'end'].join('\n')
}

function isOneOf(names: readonly string[]): string {
  return names.map((name) => `name == '${name}'`).join(' or ')
}

/** The same for scripts of a meter. */
export function meterPrelude(): string {
  return [...constants(METER_CONSTANTS), quotaConstants()].join('\n')
}

/** The shortest text that gives the same double. */
function constants(values: Readonly<Record<string, number>>): string[] {
  return Object.entries(values).map(([name, value]) => `local ${name} = ${value}`)
}

function quotaConstants(): string {
  return `local quota = { ${fields(QUOTA_CONSTANTS)}, LENGTHS = { ${fields(LENGTHS)} }, isBeyond = false, isZoneMissing = false }`
}

function fields(values: Readonly<Record<string, number>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} = ${value}`)
    .join(', ')
}
