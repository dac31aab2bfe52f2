import { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { FillRequest } from '../../src/meter/meter-store.ts'
import { isOutsideTransactions, isPreparing, nameOf } from '../../src/meter/postgres-client.ts'
import { PostgresMeterStore } from '../../src/meter/postgres-meter-store.ts'

const FILL: FillRequest = {
  name: 'test',
  key: 'k',
  amount: 1,
  capacity: 10,
  interval: 1e12,
  clamp: false,
  block: 0,
}
const METER = { name: 'test', key: 'k' }

type Statement = string | { readonly name: string; readonly text: string; readonly values: unknown[] }

const FILLED = Buffer.alloc(48)
FILLED.writeDoubleBE(1)

/** Looks like a Client of pg, and keeps what it is asked; refuses as many as there are codes. */
function fakeClient(...codes: string[]) {
  const statements: Statement[] = []
  const query = async (statement: Statement) => {
    statements.push(statement)
    const code = codes.shift()
    if (code !== undefined) throw Object.assign(new Error('refused'), { code })
    const text = typeof statement === 'string' ? statement : statement.text
    return { rows: text.startsWith('INSERT') ? [{ filled: FILLED.toString('hex') }] : [] }
  }
  return { client: { query, connection: { parsedStatements: {} } }, statements }
}

const kinds = (statements: readonly Statement[]) => statements.map((statement) => typeof statement)

function spyOnWarnings() {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  return warn
}

test('a Pool and a Client of pg prepare, and others are not asked to', async () => {
  const pool = new pg.Pool()
  onTestFinished(() => pool.end())
  const pglite = new PGlite()
  onTestFinished(() => pglite.close())
  expect(isPreparing(pool)).toBe(true)
  expect(isPreparing(new pg.Client())).toBe(true)
  expect(isPreparing({ query: () => {}, namedQueries: {} })).toBe(true)
  expect(isPreparing(pglite)).toBe(false)
  for (const other of [{}, { connection: {} }, { connection: null }, { totalCount: 1, idleCount: 0 }]) {
    expect(isPreparing({ query: () => {}, ...other })).toBe(false)
  }
})

test('a Pool and a PGlite are asked in passing; a Client, or one of a Pool, may be in a transaction', async () => {
  const pool = new pg.Pool()
  onTestFinished(() => pool.end())
  const pglite = new PGlite()
  onTestFinished(() => pglite.close())
  expect([pool, pglite].map(isOutsideTransactions)).toEqual([true, true])
  expect([new pg.Client(), { query: () => {} }].map(isOutsideTransactions)).toEqual([false, false])
  await pglite.transaction(async (inside) => expect(isOutsideTransactions(inside)).toBe(false))
})

test('a name reveals nothing, fits, and is that of one text', () => {
  expect(nameOf('SELECT 1')).toMatch(/^velvet_rope_[0-9a-f]{32}$/)
  expect(nameOf('SELECT 1')).toBe(nameOf('SELECT 1'))
  expect(nameOf('SELECT 1')).not.toBe(nameOf('SELECT 2'))
})

test('fills are prepared, all else is not', async () => {
  const { client, statements } = fakeClient()
  const store = new PostgresMeterStore(client)
  await store.fill(FILL, 1)
  await store.drain(METER)
  expect(kinds(statements)).toEqual(['object', 'string'])
  const [{ name, text, values }] = statements as [Exclude<Statement, string>]
  expect(name).toBe(nameOf(text))
  expect(values.slice(0, 2)).toEqual(['test', 'k'])
})

test('nothing is prepared where that is not wanted', async () => {
  const { client, statements } = fakeClient()
  await new PostgresMeterStore(client, { prepare: false }).fill(FILL, 1)
  expect(kinds(statements)).toEqual(['string'])
})

test.each(['26000', '42P05'])(
  'a connection that does not keep what is prepared (%s) is asked once more, and then without',
  async (code) => {
    const warn = spyOnWarnings()
    const { client, statements } = fakeClient(code, code)
    const store = new PostgresMeterStore(client)
    const fills = await Promise.all([store.fill(FILL, 1), store.fill(FILL, 1), store.fill(FILL, 1)])
    expect(fills.map(({ accepted }) => accepted)).toEqual([true, true, true])
    await store.fill(FILL, 1)
    expect(kinds(statements)).toEqual(['object', 'object', 'object', 'string', 'string', 'string'])
    expect(warn).toHaveBeenCalledTimes(1)
  },
)

test('a connection that does not even know what has no name is not asked for ever', async () => {
  spyOnWarnings()
  const { client, statements } = fakeClient('26000', '26000')
  await expect(new PostgresMeterStore(client).fill(FILL)).rejects.toThrow('has lost a prepared statement')
  expect(kinds(statements)).toEqual(['object', 'string'])
})
