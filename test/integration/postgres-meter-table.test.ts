import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { FillRequest } from '../../src/meter/meter-store.ts'
import { PostgresMeterStore } from '../../src/meter/postgres-meter-store.ts'
import { newTable, openPool } from '../support/postgres-server.ts'

const HOUR = 3_600_000_000
const EXACT = { amount: 0.1 + 0.2, capacity: 1e9, interval: 1e6 / 3 }

let pool: pg.Pool
const schema = newTable()
/** Names of the test's tables, which go with their schema. */
const fresh = () => `${schema}.${newTable()}`

beforeAll(async () => {
  pool = await openPool({ max: 20 })
  await pool.query(`CREATE SCHEMA ${schema}`)
})

afterAll(async () => {
  await pool.query(`DROP SCHEMA ${schema} CASCADE`)
  await pool.end()
})

function one(key: string, change: Partial<FillRequest> = {}): FillRequest {
  return { name: 'test', key, amount: 1, capacity: 10, interval: HOUR, clamp: false, block: 0, ...change }
}

async function openStore(): Promise<{ store: PostgresMeterStore; table: string }> {
  const table = fresh()
  const store = new PostgresMeterStore(pool, { table })
  await store.setup()
  return { store, table }
}

async function keysOf(table: string): Promise<string[]> {
  const { rows } = await pool.query<{ key: string }>(`SELECT key FROM ${table} ORDER BY key`)
  return rows.map(({ key }) => key)
}

describe('the table', () => {
  test('is created with its index, by any number of concurrent processes', async () => {
    for (let round = 0; round < 5; round++) {
      const table = fresh()
      await Promise.all(Array.from({ length: 20 }, () => new PostgresMeterStore(pool, { table }).setup()))
      const { rows } = await pool.query(
        "SELECT FROM pg_indexes WHERE schemaname || '.' || tablename = $1 AND indexdef LIKE '%(expires_at)'",
        [table],
      )
      expect(rows).toHaveLength(1)
    }
  })

  test('is not taken for a stranger’s by a statement whose snapshot is older than the table', async () => {
    const table = fresh()
    const client = await pool.connect()
    onTestFinished(() => client.release())
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    await client.query('SELECT FROM pg_class LIMIT 1')
    await new PostgresMeterStore(pool, { table }).setup()
    const store = new PostgresMeterStore(client, { table })
    await store.setup()
    expect((await store.fill(one('k'))).accepted).toBe(true)
    await client.query('COMMIT')
    await store.setup()
    expect(await keysOf(table)).toEqual(['k'])
  })

  test('that is missing is an error that names the remedy', async () => {
    const table = fresh()
    const store = new PostgresMeterStore(pool, { table })
    const message = `the table "${table.replace('.', '"."')}" does not exist: call setup()`
    await expect(store.fill(one('k'))).rejects.toThrow(message)
    await expect(store.read({ name: 'test', key: 'k' })).rejects.toThrow(message)
    await expect(new PostgresMeterStore(pool, { table: 'nowhere.t' }).fill(one('k'))).rejects.toMatchObject({
      code: 'backend-unavailable',
      message: expect.stringContaining('setup()'),
    })
  })

  test('that another role has made is left as it is', async () => {
    const table = fresh()
    await pool.query(`CREATE TABLE ${table} (name text, key text, expires_at date, PRIMARY KEY (name, key))`)
    const store = new PostgresMeterStore(pool, { table })
    await expect(store.setup()).rejects.toMatchObject({ code: 'foreign-value' })
    await expect(store.fill(one('k'))).rejects.toMatchObject({ code: 'foreign-value' })
    expect(await keysOf(table)).toEqual([])
    const { rows } = await pool.query(
      'SELECT FROM pg_indexes WHERE schemaname = $1 AND tablename = $2',
      table.split('.'),
    )
    expect(rows).toHaveLength(1)
  })

  test.each<[string, (table: string) => string]>([
    ['a level in a real', (table) => `ALTER TABLE ${table} ALTER level TYPE real`],
    ['times in whole numbers', (table) => `ALTER TABLE ${table} ALTER at TYPE bigint`],
    ['a verdict in digits', (table) => `ALTER TABLE ${table} ALTER accepted TYPE text`],
    ['a column less', (table) => `ALTER TABLE ${table} DROP interval_us`],
    ['no key', (table) => `ALTER TABLE ${table} DROP CONSTRAINT ${table.split('.')[1]}_pkey`],
    [
      'a key of one column',
      (table) =>
        `ALTER TABLE ${table} DROP CONSTRAINT ${table.split('.')[1]}_pkey; CREATE UNIQUE INDEX ON ${table} (key)`,
    ],
    [
      'a key for some rows',
      (table) =>
        `ALTER TABLE ${table} DROP CONSTRAINT ${table.split('.')[1]}_pkey; CREATE UNIQUE INDEX ON ${table} (name, key) WHERE level > 0`,
    ],
  ])('with %s is a foreign table', async (_, alter) => {
    const { store, table } = await openStore()
    await store.setup()
    await pool.query(alter(table))
    await expect(store.setup()).rejects.toMatchObject({ code: 'foreign-value' })
  })

  test('may have its key in another order, and columns more', async () => {
    const { store, table } = await openStore()
    await pool.query(
      `ALTER TABLE ${table} DROP CONSTRAINT ${table.split('.')[1]}_pkey; CREATE UNIQUE INDEX ON ${table} (key, name)`,
    )
    await pool.query(`ALTER TABLE ${table} ADD note text`)
    await store.setup()
    expect((await store.fill(one('k'))).accepted).toBe(true)
  })

  test.each([
    '',
    '.',
    'a.b.c',
    'a b',
    '1a',
    'a"b',
    "a'b",
    'a;b',
    'meters; DROP TABLE users',
    'meters"; DROP TABLE users; --',
    'pg_class\0',
    'métres',
    'a'.repeat(53),
  ])('is not called %j', (table) => {
    expect(() => new PostgresMeterStore(pool, { table })).toThrow(
      /^new PostgresMeterStore: expected table to be/,
    )
  })

  test('may have a name with a meaning in SQL, of either case', async () => {
    for (const name of ['select', 'Meters', 'a'.repeat(52)]) {
      const store = new PostgresMeterStore(pool, { table: `${schema}.${name}` })
      await store.setup()
      expect((await store.fill(one('k'))).accepted).toBe(true)
      expect(await keysOf(`${schema}."${name}"`)).toEqual(['k'])
    }
  })

  test('serves a role that may not create anything, and fails with a clear error where the table is missing', async () => {
    const { table } = await openStore()
    const role = newTable()
    await pool.query(`CREATE ROLE ${role}`)
    await pool.query(`GRANT USAGE ON SCHEMA ${schema} TO ${role}`)
    await pool.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO ${role}`)
    const poor = await openPool({ options: `-c role=${role}` })
    onTestFinished(async () => {
      await poor.end()
      await pool.query(`DROP OWNED BY ${role}`)
      await pool.query(`DROP ROLE ${role}`)
    })
    const store = new PostgresMeterStore(poor, { table })
    await store.setup()
    expect((await store.fill(one('k'))).accepted).toBe(true)
    await store.drain({ name: 'test', key: 'k' })
    expect(await store.prune()).toBe(0)
    await expect(new PostgresMeterStore(poor, { table: fresh() }).setup()).rejects.toThrow(
      'lacks a privilege',
    )
  })

  test('leaves its indexes alone while a key is filled again and again', async () => {
    const { table } = await openStore()
    const client = await pool.connect()
    onTestFinished(() => client.release())
    const store = new PostgresMeterStore(client, { table })
    await client.query('BEGIN')
    for (let fill = 0; fill < 20; fill++)
      await store.fill(one('busy', { interval: 1_000 }), 60e6 + fill * 1_000)
    const { rows } = await client.query(
      `SELECT pg_stat_get_xact_tuples_hot_updated('${table}'::regclass)::int AS hot`,
    )
    await client.query('COMMIT')
    expect(rows).toEqual([{ hot: 19 }])
  })
})

describe('what has leaked away', () => {
  test('is deleted, whatever the count, and nothing else is', async () => {
    const { store, table } = await openStore()
    await pool.query(
      `INSERT INTO ${table} SELECT 'test', 'old ' || i, 1, i, 0, 1, true, i, i FROM generate_series(1, 2500) i`,
    )
    await store.fill(one('live'))
    await store.fill(one('blocked', { amount: 11, block: HOUR }))
    await store.close()
    await pool.query(`INSERT INTO ${table} VALUES ('test', 'old', 1, 1, 0, 1, true, 1, 1)`)
    const holder = await pool.connect()
    await holder.query('BEGIN')
    await holder.query(`SELECT FROM ${table} WHERE key = 'old' FOR UPDATE`)
    expect(await store.prune()).toBe(2_500)
    await holder.query('COMMIT')
    holder.release()
    expect(await store.prune()).toBe(1)
    expect(await keysOf(table)).toEqual(['blocked', 'live'])
  })
})

test('numbers come back as they are, whatever the server and the client do to theirs', async () => {
  const { store, table } = await openStore()
  const rounding = await openPool({
    options:
      '-c extra_float_digits=-15 -c bytea_output=escape -c timezone=Asia/Kathmandu -c datestyle=German',
    types: { getTypeParser: (type) => (type === pg.types.builtins.TEXT ? String : () => 'unreadable') },
  })
  onTestFinished(() => rounding.end())
  const odd = new PostgresMeterStore(rounding, { table })
  await odd.fill(one('odd', EXACT), 1e15 + 0.25)
  await store.fill(one('plain', EXACT), 1e15 + 0.25)
  const expected = { level: EXACT.amount, at: 1e15 + 0.25, blockedUntil: 0, interval: EXACT.interval }
  for (const [reader, key] of [
    [store, 'odd'],
    [store, 'plain'],
    [odd, 'odd'],
  ] as const) {
    expect((await reader.read({ name: 'test', key }, 1e15 + 0.25)).state).toEqual(expected)
  }
  const clock = await store.read({ name: 'test', key: 'odd' })
  expect(Math.abs(clock.now - (await odd.read({ name: 'test', key: 'odd' })).now)).toBeLessThan(5_000_000)
})
