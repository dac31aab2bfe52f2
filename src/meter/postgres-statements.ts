import { describe } from '../core/describe.ts'
import { MINUTE } from '../core/duration.ts'
import { InvalidOptionsError } from '../core/errors.ts'
import { LEAST_GROWTH, LONGEST_STEP_BACK, ROUNDING } from '../core/meter.ts'

/** The statements of the store. User data are parameters, never text, except for the table. */
export interface Statements {
  /** $1: the table, quoted. Returns `has_table`, and whether it matches: `has_columns`, `has_key` and `has_index`. */
  readonly look: string
  readonly createTable: string
  readonly createIndex: string
  /** $1 name, $2 key, $3 amount, $4 capacity, $5 interval, $6 clamp, $7 block, $8 now or null. Returns `filled`. */
  readonly fill: string
  /** $1 name, $2 key, $3 now or null. Returns `now`, and `state`, which is null if none is stored. */
  readonly read: string
  /** $1 name, $2 key. Returns nothing. */
  readonly drain: string
  /** $1 the maximum. Returns `gone`, the number in digits. */
  readonly prune: string
  /** Adds the columns of quotas. */
  readonly addQuotas: string
}

/** PostgreSQL truncates longer names, and the index is named after the table. */
const LONGEST_NAME = 63 - '_expires_at'.length
const NAME = new RegExp(`^[A-Za-z_][A-Za-z0-9_]{0,${LONGEST_NAME - 1}}$`)

/** Quotes `billing.meters` as `"billing"."meters"`. @throws InvalidOptionsError */
export function quoteTable(table: string): string {
  const names = table.split('.')
  if (names.length > 2 || !names.every((name) => NAME.test(name))) {
    throw new InvalidOptionsError(
      "new PostgresMeterStore: expected table to be '<table>' or '<schema>.<table>', each of 1 to " +
        `${LONGEST_NAME} letters, digits and _ and not beginning with a digit, got: ${describe(table)}`,
    )
  }
  return names.map((name) => `"${name}"`).join('.')
}

/**
 * @param table from `quoteTable`
 */
export function statementsFor(table: string): Statements {
  const index = `${table.split('.').at(-1)!.slice(0, -1)}_expires_at"`
  return {
    // to_regclass() sees what was just committed, the catalog rows only the statement's snapshot: the table exists if
    // its row does, otherwise a table that another process is creating would look like a foreign one.
    look: `SELECT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass($1)) AS has_table, (
        SELECT count(*) = ${TYPES.length} FROM pg_attribute
        WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped
          AND (attname, atttypid) IN (${TYPES.map(([name, type]) => `('${name}', '${type}'::regtype)`).join(', ')})
      ) AS has_columns, (
        SELECT count(*) = ${QUOTA_TYPES.length} FROM pg_attribute
        WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped
          AND (attname, atttypid) IN (${QUOTA_TYPES.map(([name, type]) => `('${name}', '${type}'::regtype)`).join(', ')})
      ) AS has_quotas, EXISTS (
        SELECT FROM pg_index WHERE indrelid = to_regclass($1) AND indisunique AND indimmediate AND indisvalid
          AND indpred IS NULL AND (
            SELECT array_agg(attname::text ORDER BY attname) = '{key,name}' FROM pg_attribute
            WHERE attrelid = indrelid AND attnum = ANY (indkey[0:indnkeyatts - 1])
          ) AND indnkeyatts = 2
      ) AS has_key, EXISTS (
        SELECT FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
        WHERE indrelid = to_regclass($1) AND attname = 'expires_at'
      ) AS has_index`,
    // Keys are compared as bytes, whatever the locale of the database. With some free space in each page, an update
    // stays in its page and does not touch the indexes.
    createTable: `CREATE TABLE IF NOT EXISTS ${table} (
        name text COLLATE "C" NOT NULL,
        key text COLLATE "C" NOT NULL,
        level float8 NOT NULL,
        at float8 NOT NULL,
        blocked_until float8 NOT NULL,
        interval_us float8 NOT NULL,
        accepted boolean NOT NULL,
        asked_at float8 NOT NULL,
        expires_at float8 NOT NULL,
        PRIMARY KEY (name, key)
      ) WITH (fillfactor = 90)`,
    createIndex: `CREATE INDEX IF NOT EXISTS ${index} ON ${table} (expires_at)`,
    fill: `INSERT INTO ${table} AS meter (name, key, ${COLUMNS})
      SELECT $1::text, $2::text, ${COLUMNS} FROM (${filled('0::float8', '0::float8', '0::float8', '0::float8')}) first
      ON CONFLICT (name, key) DO UPDATE SET (${COLUMNS}) =
        (${filled('meter.level', 'meter.at', 'meter.blocked_until', 'meter.interval_us')})
      RETURNING ${packed('accepted::int::float8', 'level', 'at', 'blocked_until', 'interval_us', 'asked_at')} AS filled`,
    read: `SELECT ${packed('now')} AS now,
        CASE WHEN level IS NOT NULL THEN ${packed('level', 'at', 'blocked_until', 'interval_us')} END AS state
      FROM (${clock('$3')}) clock LEFT JOIN ${table} ON name = $1::text AND key = $2::text`,
    drain: `DELETE FROM ${table} WHERE name = $1::text AND key = $2::text`,
    prune: `WITH gone AS (
        DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM ${table} WHERE expires_at <= (${clock('NULL')})
          ORDER BY expires_at LIMIT $1::int FOR UPDATE SKIP LOCKED
        )) RETURNING 1
      ) SELECT count(*)::text AS gone FROM gone`,
    addQuotas: `ALTER TABLE ${table} ${QUOTA_TYPES.map(([name, type]) => `ADD COLUMN IF NOT EXISTS ${name} ${type}`).join(', ')}`,
  }
}

/** As created by `createTable`. A `real` would round levels and lose small fills. */
const TYPES: readonly (readonly [column: string, type: string])[] = [
  ['name', 'text'],
  ['key', 'text'],
  ['level', 'float8'],
  ['at', 'float8'],
  ['blocked_until', 'float8'],
  ['interval_us', 'float8'],
  ['accepted', 'boolean'],
  ['asked_at', 'float8'],
  ['expires_at', 'float8'],
]

/** Rows of limits without quotas have none of these. */
const QUOTA_TYPES: readonly (readonly [column: string, type: string])[] = [
  ['quota_windows', 'text'],
  ['quota_uses', 'float8[]'],
]

export const COLUMNS = 'level, at, blocked_until, interval_us, accepted, asked_at, expires_at'

/**
 * `fill` of core/meter.ts, operation by operation, as a query of one row with the COLUMNS. Rows and the clock are read
 * once, after the row lock was acquired.
 *
 * `OFFSET 0` keeps the planner from inlining each step into all that use it: planning took three times as long.
 */
function filled(level: string, at: string, blockedUntil: string, kept: string): string {
  const next = filledLevel({ level, at, blockedUntil, kept }, clock('$8'))
  return `SELECT ${COLUMNS.replace('expires_at', `${expiry()} AS expires_at`)} FROM (${next}) next`
}

/** @param allowed what has to allow it, too; then it is filled to the brim only where the amount does not fit */
export function filledLevel(
  { level, at, blockedUntil, kept }: Readonly<Record<'level' | 'at' | 'blockedUntil' | 'kept', string>>,
  clock: string,
  allowed?: string,
): string {
  const stored = `SELECT ${level} AS level, ${at} AS at, ${blockedUntil} AS blocked_until, ${kept} AS kept, now,
      ${forgotten(level, at, blockedUntil, kept)} <= now AS is_gone
    FROM (${clock}) clock OFFSET 0`
  const healed = `SELECT now,
      CASE WHEN is_gone THEN 0 ELSE level END AS level,
      CASE WHEN is_gone THEN 0 WHEN at - now > ${LONGEST_STEP_BACK} THEN now ELSE at END AS at,
      CASE WHEN is_gone THEN 0 WHEN at - now > ${LONGEST_STEP_BACK} THEN greatest(0, blocked_until - (at - now))
        ELSE blocked_until END AS blocked_until,
      CASE WHEN is_gone THEN 0 ELSE kept END AS kept
    FROM (${stored}) stored OFFSET 0`
  const leaked = `SELECT *, greatest(0, level - greatest(0, now - at) / greatest(kept, $5::float8)) AS left_over,
      blocked_until > now AS is_blocked
    FROM (${healed}) healed OFFSET 0`
  const risen = `SELECT *,
      CASE WHEN $3::float8 = 0 THEN left_over
        ELSE greatest(left_over + $3::float8, left_over * ${LEAST_GROWTH}::float8) END AS filled
    FROM (${leaked}) leaked OFFSET 0`
  const hasSpace = `NOT is_blocked AND filled <= $4::float8 * (1 + ${ROUNDING}::float8)`
  const verdict =
    allowed === undefined
      ? `${hasSpace} AS fits`
      : `${hasSpace} AND ${allowed} AS fits, ${hasSpace} AS has_space`
  const judged = `SELECT *, ${verdict}
    FROM (${risen}) risen OFFSET 0`
  const clamps = allowed === undefined ? '$6::boolean' : '($6::boolean AND NOT has_space)'
  const settled = `SELECT *,
      CASE WHEN fits THEN $3::float8 <> 0
        ELSE NOT is_blocked AND (${clamps} OR $7::float8 <> 0) END AS changes,
      kept <> 0 AND kept <> $5::float8 AS is_retimed
    FROM (${judged}) judged OFFSET 0`
  return `SELECT fits AS accepted, now AS asked_at,
      CASE WHEN changes AND fits THEN filled
        WHEN changes AND ${clamps} THEN greatest(left_over, $4::float8)
        WHEN changes OR is_retimed THEN left_over
        ELSE level END AS level,
      CASE WHEN changes OR is_retimed THEN greatest(at, now) ELSE at END AS at,
      CASE WHEN changes AND NOT fits AND $7::float8 > 0 THEN now + $7::float8
        ELSE blocked_until END AS blocked_until,
      CASE WHEN changes OR is_retimed THEN $5::float8 ELSE kept END AS interval_us
    FROM (${settled}) settled OFFSET 0`
}

/** `forgottenAt`. PostgreSQL rejects products that underflow a double; they add nothing to a time. */
function forgotten(level: string, at: string, blockedUntil: string, interval: string): string {
  const leaks = `CASE WHEN ${level} < 1e-280 THEN 0 ELSE ${level} * ${interval} END`
  return `greatest(${at} + ${leaks}, ${blockedUntil}) + 1`
}

/**
 * The time from which the row may be deleted, rounded up to a whole minute: so a key in use moves in the index once a
 * minute, and its other updates do not touch the indexes.
 */
export function expiry(...others: string[]): string {
  const ends = [forgotten('level', 'at', 'blocked_until', 'interval_us'), ...others]
  return `ceil((${ends.length === 1 ? ends[0] : `greatest(${ends.join(', ')})`}) / ${MINUTE}) * ${MINUTE}`
}

/** The current time of the database, not that of the transaction's start; its subquery is evaluated once. */
export function clock(now: string): string {
  return `SELECT coalesce(${now}::float8, (extract(epoch FROM clock_timestamp()) * 1000000)::float8) AS now`
}

/**
 * The exact bits of doubles, in hexadecimal: decimal digits may be rounded by a server setting or the client's parser.
 */
export function packed(...columns: string[]): string {
  return `encode(${columns.map((column) => `float8send(${column})`).join(' || ')}, 'hex')`
}
