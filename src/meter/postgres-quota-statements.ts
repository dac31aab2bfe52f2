import { BOUNDARY, FARTHEST_AHEAD, SUB_WINDOWS } from '../core/quota.ts'
import { COLUMNS, clock, expiry, filledLevel, packed } from './postgres-statements.ts'

/** The statements for limits with quotas, on a table with the columns of quotas. */
export interface QuotaStatements {
  /**
   * $1 to $8 as the fill of `Statements`, $9 the windows as text, $10 the numbers of all quotas: `quotaNumbers`; $11 and $12 what is
   * kept for other windows, and $13 what counts instead of it, or null. Returns `filled`, `windows` and `uses`; where the caller has
   * to ask again, nothing was changed, and the time in it is negative.
   */
  readonly fill: string
  /** $1 name, $2 key, $3 now or null. Returns `now`, and `state`, `windows` and `uses`, which are null if none is stored. */
  readonly read: string
}

const QUOTA_COLUMNS = `${COLUMNS}, quota_windows, quota_uses`

/** @param table from `quoteTable` */
export function quotaStatementsFor(table: string): QuotaStatements {
  return {
    fill: `INSERT INTO ${table} AS meter (name, key, ${QUOTA_COLUMNS})
      SELECT $1::text, $2::text, ${QUOTA_COLUMNS} FROM (${filled(NOTHING)}) first
      ON CONFLICT (name, key) DO UPDATE SET (${QUOTA_COLUMNS}) = (${filled(KEPT)})
      RETURNING ${packed('accepted::int::float8', 'level', 'at', 'blocked_until', 'interval_us', 'asked_at')} AS filled,
        quota_windows AS windows, ${PACKED_USES} AS uses`,
    read: `SELECT ${packed('now')} AS now,
        CASE WHEN level IS NOT NULL THEN ${packed('level', 'at', 'blocked_until', 'interval_us')} END AS state,
        quota_windows AS windows, ${PACKED_USES} AS uses
      FROM (${clock('$3')}) clock LEFT JOIN ${table} ON name = $1::text AND key = $2::text`,
  }
}

interface Row {
  readonly level: string
  readonly at: string
  readonly blockedUntil: string
  readonly kept: string
  readonly windows: string
  readonly uses: string
}

const NOTHING: Row = {
  level: '0::float8',
  at: '0::float8',
  blockedUntil: '0::float8',
  kept: '0::float8',
  windows: 'NULL::text',
  uses: 'NULL::float8[]',
}
const KEPT: Row = {
  level: 'meter.level',
  at: 'meter.at',
  blockedUntil: 'meter.blocked_until',
  kept: 'meter.interval_us',
  windows: 'meter.quota_windows',
  uses: 'meter.quota_uses',
}

/** The exact bits of what each entry holds: its quota, from 1 on, when it ends, and how much it counts. */
const PACKED_USES = `(SELECT encode(string_agg(float8send(one), ''::bytea ORDER BY place), 'hex')
        FROM unnest(quota_uses) WITH ORDINALITY AS each(one, place))`

/**
 * `fillQuotas` of core/meter-quotas.ts as a query of one row with the QUOTA_COLUMNS. As in `Statements`, the row and the clock are
 * read once, after the row lock was acquired.
 *
 * - spot: where a fill of now counts in each quota: in one entry, or near the boundary of a period in two
 * - entry: what counts in each quota, without what is over; nothing counts for longer than a fill of now
 */
function filled({ windows, uses, ...level }: Row): string {
  const isCarried = `coalesce(${windows} = $11::text AND ${uses} = $12::text::float8[], false)`
  return `WITH clock AS MATERIALIZED (${clock('$8')}),
    stored AS (SELECT CASE WHEN ${isCarried} THEN $13::text::float8[] ELSE ${uses} END AS uses,
      (${windows} IS NULL OR ${windows} = $9::text OR ${isCarried}) AS is_same),
    quota AS (SELECT number AS quota, ${fields('amount', 'charge', 'length', 'b0', 'b1', 'b2', 'b3')}
      FROM (SELECT $10::text::float8[] AS given) given, generate_series(1, cardinality(given) / 7) AS number),
    spot AS (SELECT quota.*, now, ${endAt('now', -BOUNDARY)} AS first_end, ${endAt('now', BOUNDARY)} AS second_end,
        ${endAt(`now + ${FARTHEST_AHEAD}`, BOUNDARY)} AS last_end,
        length > 0 OR (b0 <= now - ${BOUNDARY} AND now + ${BOUNDARY + FARTHEST_AHEAD} < b2) AS is_known
      FROM quota, clock),
    entry AS (SELECT quota, least(ends, last_end) AS ends, sum(used) AS used
      FROM (SELECT uses[place * 3 - 2] AS quota, uses[place * 3 - 1] AS ends, uses[place * 3] AS used
        FROM stored, generate_series(1, cardinality(uses) / 3) AS place) each
      JOIN spot USING (quota) WHERE ends > now GROUP BY quota, least(ends, last_end)),
    room AS (SELECT is_known, amount, charge, (
        SELECT CASE WHEN length > 0 THEN sum(used) ELSE max(used) FILTER (WHERE ends IN (first_end, second_end)) END
        FROM entry WHERE entry.quota = spot.quota
      ) AS counted FROM spot),
    verdict AS MATERIALIZED (SELECT bool_and(charge <= amount AND (coalesce(counted, 0) = 0 OR counted + charge <= amount)) AS is_allowed,
      bool_and(is_known) AND bool_and((SELECT is_same FROM stored)) AS is_ready FROM room),
    next AS MATERIALIZED (${filledLevel(level, 'SELECT now FROM clock', '(SELECT is_allowed FROM verdict)')}),
    charged AS (SELECT quota, ends, sum(used) AS used FROM (
        SELECT quota::float8, ends, used FROM entry
        UNION ALL SELECT quota, first_end, charge FROM spot, next WHERE accepted AND charge > 0
        UNION ALL SELECT quota, second_end, charge FROM spot, next WHERE accepted AND charge > 0 AND second_end <> first_end
      ) each GROUP BY quota, ends),
    counted AS (SELECT max(ends) AS last, array_agg(one ORDER BY quota, ends, place) AS uses
      FROM charged, LATERAL (VALUES (1, quota), (2, ends), (3, used)) AS each(place, one))
    SELECT level, at, blocked_until, interval_us, accepted, asked_at, ${expiry('coalesce(last, 0)')} AS expires_at,
      CASE WHEN uses IS NOT NULL THEN $9::text END AS quota_windows, uses AS quota_uses
    FROM next, counted, verdict WHERE is_ready
    UNION ALL SELECT level, at, blocked_until, interval_us, false, -asked_at, ${expiry('coalesce(last, 0)')}, windows, uses
    FROM (SELECT ${level.level} AS level, ${level.at} AS at, ${level.blockedUntil} AS blocked_until, ${level.kept} AS interval_us,
        now AS asked_at, ${windows} AS windows, ${uses} AS uses,
        (SELECT max(one) FROM unnest(${uses}) AS one) AS last
      FROM clock, verdict WHERE NOT is_ready) same`
}

function fields(...names: string[]): string {
  return names
    .map((name, place) => `given[number * ${names.length} - ${names.length - 1 - place}] AS ${name}`)
    .join(', ')
}

/** When the entry ends in which a fill at that time counts; near the boundary of a period `beside` it. */
function endAt(at: string, beside: number): string {
  const part = `ceil(length / ${SUB_WINDOWS})`
  const near = `${at} + ${beside}`
  return `CASE WHEN length > 0 THEN (floor((${at}) / ${part}) + 1) * ${part} + length
        ELSE CASE WHEN ${near} < b0 THEN b0 WHEN ${near} < b1 THEN b1 WHEN ${near} < b2 THEN b2 ELSE b3 END + ${BOUNDARY} END`
}
