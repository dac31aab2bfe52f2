import { PGlite } from '@electric-sql/pglite'
import type pg from 'pg'
import { PostgresMeterStore } from '../../src/meter/postgres-meter-store.ts'
import { atFileEnd } from './at-file-end.ts'
import { newTable, openPool } from './postgres-server.ts'

/** Each is opened by the first test of a file that wants it, and closed after the last. */
let pool: Promise<pg.Pool> | undefined
let pglite: PGlite | undefined
let tables: string[] = []
/** How to ask for what the store itself would ask for by the clock of the database. */
const prunings = new WeakMap<PostgresMeterStore, (now: number) => Promise<unknown>>()

/** On the PostgreSQL that all tests share, in a table of its own. */
export async function openPostgresMeterStore(quotas = false): Promise<PostgresMeterStore> {
  pool ??= openForFile()
  const table = newTable()
  const store = new PostgresMeterStore(await pool, { table, quotas })
  await store.setup()
  tables.push(table)
  prunings.set(store, async (now) => (await pool)!.query(pruneOf(table), [now]))
  return store
}

function openForFile(): Promise<pg.Pool> {
  const opened = openPool()
  atFileEnd(async () => {
    const [all, database] = [tables, await opened]
    pool = undefined
    tables = []
    for (const table of all) await database.query(`DROP TABLE ${table}`)
    await database.end()
  })
  return opened
}

async function closePglite(): Promise<void> {
  const closing = pglite
  pglite = undefined
  await closing?.close()
}

/** On a PostgreSQL inside this process, one for each test file. */
export async function openPgliteMeterStore(quotas = false): Promise<PostgresMeterStore> {
  if (pglite === undefined) atFileEnd(closePglite)
  pglite ??= new PGlite()
  const [database, table] = [pglite, newTable()]
  const store = new PostgresMeterStore(database, { table, quotas })
  await store.setup()
  prunings.set(store, (now) => database.query(pruneOf(table), [now]))
  return store
}

/** Deletes the rows that may go at a time that is not that of the database. */
export async function pruneAsOf(store: PostgresMeterStore, now: number): Promise<void> {
  await prunings.get(store)!(now)
}

function pruneOf(table: string): string {
  return `DELETE FROM ${table} WHERE expires_at <= $1`
}
