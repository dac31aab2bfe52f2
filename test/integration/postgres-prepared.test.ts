import type pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import type { FillRequest } from '../../src/meter/meter-store.ts'
import { PostgresMeterStore } from '../../src/meter/postgres-meter-store.ts'
import { newTable, openPool } from '../support/postgres-server.ts'

let pool: pg.Pool
const tables = [newTable(), newTable()] as const

beforeAll(async () => {
  pool = await openPool()
  for (const table of tables) await new PostgresMeterStore(pool, { table }).setup()
})

afterAll(async () => {
  for (const table of tables) await pool.query(`DROP TABLE ${table}`)
  await pool.end()
})

const fillOf = (key: string): FillRequest => ({
  name: 'test',
  key,
  amount: 1,
  capacity: 100,
  interval: 1e12,
  clamp: false,
  block: 0,
})

/** One connection, so that what is prepared on it can be looked at. */
async function connect(): Promise<pg.PoolClient> {
  const client = await pool.connect()
  onTestFinished(() => client.release(true))
  return client
}

async function preparedOn(client: pg.PoolClient): Promise<string[]> {
  const { rows } = await client.query<{ name: string; statement: string }>(
    'SELECT name, statement FROM pg_prepared_statements ORDER BY prepare_time',
  )
  expect(
    rows.every(({ name, statement }) => /^velvet_rope_\w+$/.test(name) && /^INSERT/.test(statement)),
  ).toBe(true)
  return rows.map(({ statement }) => statement)
}

function spyOnWarnings() {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  return warn
}

test('a fill is prepared once for each connection and table', async () => {
  const client = await connect()
  for (const table of tables) {
    const store = new PostgresMeterStore(client, { table })
    const same = new PostgresMeterStore(client, { table })
    for (let n = 1; n <= 5; n++) {
      expect((await store.fill(fillOf('k'))).state.level).toBeCloseTo(2 * n - 1, 3)
      expect((await same.fill(fillOf('k'))).state.level).toBeCloseTo(2 * n, 3)
    }
    await store.read({ name: 'test', key: 'k' })
    await store.drain({ name: 'test', key: 'k' })
    await Promise.all([store.close(), same.close()])
  }
  const statements = await preparedOn(client)
  expect(statements.map((statement) => tables.findIndex((table) => statement.includes(table)))).toEqual([
    0, 1,
  ])
})

test('nothing is prepared where that is not wanted', async () => {
  const client = await connect()
  const store = new PostgresMeterStore(client, { table: tables[0], prepare: false })
  await store.fill(fillOf('unprepared'))
  await store.close()
  expect(await preparedOn(client)).toEqual([])
})

test('a client that discards what was prepared gets a warning, and no fill is lost or counted twice', async () => {
  const warn = spyOnWarnings()
  const client = await connect()
  const store = new PostgresMeterStore(client, { table: tables[0] })
  await store.fill(fillOf('discarded'))
  await store.close()
  await client.query('DISCARD ALL')
  for (const level of [2, 3]) {
    expect((await store.fill(fillOf('discarded'))).state.level).toBeCloseTo(level, 3)
  }
  expect(warn).toHaveBeenCalledTimes(1)
  expect(await preparedOn(client)).toEqual([])
})

test('a client that finds another statement under the name does without', async () => {
  spyOnWarnings()
  const first = await connect()
  const table = tables[0]
  await new PostgresMeterStore(first, { table }).fill(fillOf('first'))
  const { rows } = await first.query('SELECT name FROM pg_prepared_statements')
  const other = await connect()
  await other.query(`PREPARE ${rows[0].name} AS SELECT 1`)
  const store = new PostgresMeterStore(other, { table })
  expect((await store.fill(fillOf('taken'))).state.level).toBe(1)
})

test('in a transaction, whose first error ends it, the reason is reported', async () => {
  spyOnWarnings()
  const client = await connect()
  const store = new PostgresMeterStore(client, { table: tables[0] })
  await store.fill(fillOf('transaction'))
  await store.close()
  await client.query('DEALLOCATE ALL')
  await client.query('BEGIN')
  await expect(store.fill(fillOf('transaction'))).rejects.toThrow('has lost a prepared statement')
  await client.query('ROLLBACK')
  await client.query('BEGIN')
  await store.fill(fillOf('transaction'))
  await client.query('COMMIT')
  expect((await store.read({ name: 'test', key: 'transaction' })).state?.level).toBeCloseTo(2, 3)
})

test('a table that was made anew is found by what was prepared before', async () => {
  const client = await connect()
  const table = newTable()
  const store = new PostgresMeterStore(client, { table })
  for (let n = 0; n < 2; n++) {
    await store.setup()
    expect((await store.fill(fillOf('k'))).state.level).toBe(1)
    await store.close()
    await client.query(`DROP TABLE ${table}`)
    await expect(store.fill(fillOf('k'))).rejects.toThrow('does not exist')
  }
})
