import { PGlite } from '@electric-sql/pglite'
import type pg from 'pg'
import { afterAll } from 'vitest'
import { PostgresMeterStore } from '../../src/meter/postgres-meter-store.ts'
import { newTable, openPool } from './postgres-server.ts'

/** Each is opened by the first test of a file that wants it, and closed after the last. */
let pool: Promise<pg.Pool> | undefined
let pglite: PGlite | undefined
const tables: string[] = []

afterAll(async () => {
  const opened = await pool
  for (const table of tables) await opened?.query(`DROP TABLE ${table}`)
  await opened?.end()
  await pglite?.close()
})

/** On the PostgreSQL that all tests share, in a table of its own. */
export async function openPostgresMeterStore(): Promise<PostgresMeterStore> {
  pool ??= openPool()
  const table = newTable()
  const store = new PostgresMeterStore(await pool, { table })
  await store.setup()
  tables.push(table)
  return store
}

/** On a PostgreSQL inside this process, one for each test file. */
export async function openPgliteMeterStore(): Promise<PostgresMeterStore> {
  pglite ??= new PGlite()
  const store = new PostgresMeterStore(pglite, { table: newTable() })
  await store.setup()
  return store
}
