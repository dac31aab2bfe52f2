import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { InvalidLimitError } from '../../src/core/errors.ts'
import { parseCountedLimit } from '../../src/core/limit.ts'
import { Meter, PostgresMeterStore } from '../../src/meter.ts'
import { newTable, openPool } from '../support/postgres-server.ts'

const LIMIT = '100, 10/s, 9/h, 90 tokens per day in America/New_York 7 each'
const FILL = {
  name: 'm',
  key: 'k',
  amount: 1,
  capacity: 100,
  interval: 3_600_000_000,
  clamp: false,
  block: 0,
}
const QUOTA_FILL = { ...FILL, quotas: parseCountedLimit(LIMIT).quotas, charges: [1, 7] }

let pool: pg.Pool
const schema = newTable()

beforeAll(async () => {
  pool = await openPool({ max: 20 })
  await pool.query(`CREATE SCHEMA ${schema}`)
})

afterAll(async () => {
  await pool.query(`DROP SCHEMA ${schema} CASCADE`)
  await pool.end()
})

async function columnsOf(table: string): Promise<string[]> {
  const { rows } = await pool.query<{ column_name: string }>(
    "SELECT column_name FROM information_schema.columns WHERE table_schema || '.' || table_name = $1",
    [table],
  )
  return rows.map(({ column_name }) => column_name)
}

async function openStore(quotas: boolean, table = `${schema}.${newTable()}`) {
  const store = new PostgresMeterStore(pool, { table, quotas })
  await store.setup()
  onTestFinished(() => store.close())
  return { store, table }
}

test('without the option the table has no column more, and a limit with quotas is refused', async () => {
  const { store, table } = await openStore(false)
  expect(await columnsOf(table)).toHaveLength(9)
  const birth = () => new Meter('m', { limits: { '*': LIMIT }, store })
  expect(birth).toThrow(InvalidLimitError)
  expect(birth).toThrow('a PostgresMeterStore counts them with the option quotas: true')
})

test('setup adds the columns to a table that has them not, by any number of processes, and keeps its levels', async () => {
  const { store: before, table } = await openStore(false)
  await before.fill({ ...FILL, amount: 5 })
  const stores = await Promise.all(Array.from({ length: 20 }, () => openStore(true, table)))
  await stores[0]!.store.setup()
  expect(await columnsOf(table)).toEqual(expect.arrayContaining(['quota_windows', 'quota_uses']))
  const { state } = await stores[0]!.store.quotas!.fill(QUOTA_FILL)
  expect(state.level).toBeGreaterThan(5)
  // A store without the option goes on with the same row.
  expect((await before.fill(FILL)).state.level).toBeGreaterThan(6)
  expect((await stores[0]!.store.quotas!.read(FILL)).state?.counted?.uses).toMatchObject([
    { used: [1] },
    { used: expect.arrayContaining([7]) },
  ])
})

test('a fill on a table without the columns is an error that names the table', async () => {
  const { table } = await openStore(false)
  const store = new PostgresMeterStore(pool, { table, quotas: true })
  await expect(store.quotas!.fill(QUOTA_FILL)).rejects.toThrow('its columns differ')
})

test('fills of many clients that come together use exactly the quota', async () => {
  const { store } = await openStore(true)
  const meter = new Meter('m', { limits: { '*': '1000, 1000/s, 100 tokens/h 7 each' }, store })
  const verdicts = await Promise.all(Array.from({ length: 100 }, () => meter.fill('k')))
  expect(verdicts.filter(({ accepted }) => accepted)).toHaveLength(14)
  expect(verdicts.find(({ accepted }) => !accepted)?.refusedBy).toEqual({
    quota: '100 tokens/hour',
    unit: 'tokens',
  })
  await meter.drain('k')
  expect((await meter.level('k')).quotas).toMatchObject([{ used: 0 }])
})

test('a row is pruned when neither its level nor a quota counts', async () => {
  const { store, table } = await openStore(true)
  const { now, state } = await store.quotas!.fill(QUOTA_FILL)
  const { rows } = await pool.query<{ expires_at: number }>(`SELECT expires_at FROM ${table}`)
  const last = Math.max(...state.counted!.uses.flatMap(({ ends }) => ends))
  expect(rows[0]!.expires_at).toBeGreaterThanOrEqual(last)
  expect(last).toBeGreaterThan(now + 3_600_000_000 - 1)
  expect(await store.prune()).toBe(0)
})

test('the statement works within a transaction of a user, and is prepared on a client', async () => {
  const { table } = await openStore(true)
  const client = new pg.Client({ connectionString: pool.options.connectionString, ...pool.options })
  await client.connect()
  onTestFinished(() => client.end())
  const store = new PostgresMeterStore(client, { table, quotas: true })
  await client.query('BEGIN')
  expect((await store.quotas!.fill(QUOTA_FILL)).accepted).toBe(true)
  await client.query('ROLLBACK')
  expect((await store.quotas!.read(FILL)).state).toBeUndefined()
  const { rows } = await client.query<{ n: string }>('SELECT count(*) AS n FROM pg_prepared_statements')
  expect(rows).toEqual([{ n: '1' }])
})
