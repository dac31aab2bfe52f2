import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { BackendUnavailableError, ForeignValueError } from '../../src/core/errors.ts'
import type { FillRequest } from '../../src/meter/meter-store.ts'
import { isOutsideTransactions, type PostgresClient } from '../../src/meter/postgres-client.ts'
import { PostgresMeterStore } from '../../src/meter/postgres-meter-store.ts'

let database: PGlite

beforeAll(async () => {
  database = new PGlite()
  await new PostgresMeterStore(database).setup()
})

afterAll(() => database.close())

function one(key: string): FillRequest {
  return { name: 'test', key, amount: 1, capacity: 10, interval: 1e12, clamp: false, block: 0 }
}

/** A client of the database in which something is done instead of a statement, where `act` answers something. */
function clientThat(act: (text: string) => Promise<{ rows: unknown[] }> | undefined): PostgresClient {
  return { query: (text, params) => act(text) ?? database.query(text, params) }
}

const failing = (error: Error & { code?: string }) =>
  new PostgresMeterStore({ query: () => Promise.reject(error) })
const withCode = (message: string, code: string) => Object.assign(new Error(message), { code })

test('a client is anything that has the method query', () => {
  for (const client of [undefined, null, {}, { query: 'SELECT' }, 'postgres://localhost']) {
    expect(() => new PostgresMeterStore(client as never)).toThrow(
      /^new PostgresMeterStore: expected client to have query\(text, params\)/,
    )
  }
})

test('options are known ones', () => {
  expect(() => new PostgresMeterStore(database, { tabel: 'x' } as never)).toThrow('did you mean table?')
  expect(() => new PostgresMeterStore(database, { table: 7 } as never)).toThrow(
    'expected table to be a string',
  )
  expect(() => new PostgresMeterStore(database, { prepare: 'no' } as never)).toThrow(
    'expected prepare to be true or false',
  )
})

test.each([
  ['an array of arrays', [[]]],
  ['nothing', undefined],
  ['no row', { rows: [] }],
  ['another row', { rows: [{ filled: '00' }] }],
])('a client that answers with %s is an error that names it', async (_, answer) => {
  const store = new PostgresMeterStore({ query: async () => answer as never })
  await expect(store.fill(one('k'))).rejects.toThrow('its client returned something other than rows')
})

test('a client that throws synchronously is an error of the store', async () => {
  const store = new PostgresMeterStore({
    query: () => {
      throw new Error('Cannot use a pool after calling end on the pool')
    },
  })
  await expect(store.read({ name: 'test', key: 'k' })).rejects.toThrow(
    'PostgreSQL is unavailable: its client is closed',
  )
})

describe('what goes wrong', () => {
  test.each([
    ['57P01', 'it is starting or shutting down'],
    ['57014', 'the statement was cancelled'],
    ['53300', 'its disk, memory or connections are exhausted'],
    ['28P01', 'it rejected the user'],
    ['25006', 'it is read-only'],
    ['XX000', 'it rejected the statement'],
    ['ECONNREFUSED', 'the connection was lost (ECONNREFUSED)'],
  ])('with %s is an error in words', async (code, words) => {
    const error = withCode('password of customer-4711', code)
    const refused = failing(error).fill(one('k'))
    await expect(refused).rejects.toBeInstanceOf(BackendUnavailableError)
    await expect(refused).rejects.toMatchObject({ message: expect.stringContaining(words), cause: error })
    await expect(refused).rejects.not.toThrow('4711')
  })

  test.each([
    ['Connection terminated unexpectedly', 'the connection was lost'],
    ['timeout exceeded when trying to connect', 'no connection in time'],
    ['Query read timeout', 'no response in time'],
    ['PGlite is closed', 'its client is closed'],
    ['whatever', 'its client failed'],
  ])('as %j is an error in words', async (message, words) => {
    await expect(failing(new Error(message)).fill(one('k'))).rejects.toThrow(
      `PostgreSQL is unavailable: ${words}`,
    )
  })

  test('in a table with other columns is reported as a foreign value', async () => {
    await expect(failing(withCode('no such column', '42703')).fill(one('k'))).rejects.toBeInstanceOf(
      ForeignValueError,
    )
  })

  test('carries no parameters, which PGlite hangs on its errors', async () => {
    const store = new PostgresMeterStore(database, { table: 'missing' })
    const error: Error = await store.fill(one('secret')).catch((thrown) => thrown)
    expect(error.cause).toMatchObject({ code: '42P01', message: 'relation "missing" does not exist' })
    expect(JSON.stringify([error, error.cause, Object.entries(error.cause as Error)])).not.toContain('secret')
  })
})

describe('a statement that another one has undone', () => {
  test('is made again', async () => {
    const answers = ['40001', '40P01']
    const store = new PostgresMeterStore(
      clientThat(() => {
        const code = answers.shift()
        return code === undefined ? undefined : Promise.reject(withCode('conflict', code))
      }),
    )
    expect((await store.fill(one('again'), 1)).state.level).toBe(1)
  })

  test('is not made again after it was given up', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const refusals: ((error: Error) => void)[] = []
    const query = vi.fn(() => new Promise<never>((_, reject) => void refusals.push(reject)))
    const refused = expect(new PostgresMeterStore({ query }).fill(one('k'))).rejects.toThrow(
      'no response within',
    )
    await vi.advanceTimersByTimeAsync(1_500)
    await refused
    refusals[0]!(withCode('conflict', '40001'))
    await vi.advanceTimersByTimeAsync(0)
    expect(query).toHaveBeenCalledTimes(1)
  })
})

test('a database that hangs is asked a thousand times, and again when it has answered', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const answers: (() => void)[] = []
  const store = new PostgresMeterStore(
    clientThat(
      () => new Promise((_, reject) => void answers.push(() => reject(new Error('Connection terminated')))),
    ),
  )
  const asked = Array.from({ length: 1_000 }, () =>
    store.read({ name: 'test', key: 'k' }).catch(({ message }) => message),
  )
  await vi.advanceTimersByTimeAsync(1_500)
  expect(new Set(await Promise.all(asked))).toEqual(
    new Set(['PostgreSQL is unavailable: no response within 1500 ms']),
  )
  await expect(store.fill(one('k'))).rejects.toThrow('PostgreSQL is unavailable: 1000 statements wait for it')
  expect(answers).toHaveLength(1_000)
  for (const answer of answers.splice(0)) answer()
  await vi.advanceTimersByTimeAsync(0)
  const later = expect(store.fill(one('k'))).rejects.toThrow('the connection was lost')
  answers[0]!()
  await later
})

describe('fills prune in passing', () => {
  const isPrune = (text: string) => text.startsWith('WITH gone')
  /** By which a Pool is known. */
  const counts = { totalCount: 0, idleCount: 0, waitingCount: 0 }

  /** A store whose fills are made in these minutes, and how often it has pruned. */
  function inMinutes(
    minutes: number[],
    prune: () => Promise<{ rows: unknown[] }> | undefined,
    looks: object = counts,
  ) {
    const seen = { prunings: 0 }
    const client = clientThat((text) => {
      if (!isPrune(text)) return inMinute(minutes.shift()!)
      seen.prunings++
      return prune()
    })
    return { store: new PostgresMeterStore({ ...client, ...looks }, { prepare: false }), seen }
  }

  test('once a minute, by the clock of the database, however many there are, and not with the first', async () => {
    const { store, seen } = inMinutes([0, 0.5, 0.9, 1, 1.5, 2, 0.5], () => undefined)
    for (const count of [0, 0, 0, 1, 1, 2, 3]) {
      await store.fill(one('often'))
      await store.close()
      expect(seen.prunings).toBe(count)
    }
  })

  test('never on a client that may be in a transaction', async () => {
    for (const looks of [
      {},
      { connection: { parsedStatements: {} } },
      { totalCount: 1 },
      { transaction: 1 },
    ]) {
      const { store, seen } = inMinutes([0, 2, 4], () => undefined, looks)
      for (let fill = 0; fill < 3; fill++) await store.fill(one('alone'))
      await store.close()
      expect(seen.prunings).toBe(0)
    }
  })

  test('and take away what has leaked, on a PGlite', async () => {
    const table = 'passing'
    const store = new PostgresMeterStore(database, { table })
    await store.setup()
    await store.fill(one('leaked'), 1)
    await store.fill(one('there'))
    await store.close()
    const keys = async () => (await database.query(`SELECT key FROM ${table} ORDER BY key`)).rows
    expect(await keys()).toEqual([{ key: 'leaked' }, { key: 'there' }])
    expect(isOutsideTransactions(database)).toBe(true)
    expect(await store.prune()).toBe(1)
    expect(await keys()).toEqual([{ key: 'there' }])
  })

  test('and warn when that fails, but accept', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(() => warn.mockRestore())
    // Which of the prunings work.
    const outcomes = [false, false, true, false]
    const { store } = inMinutes([0, 2, 4, 6, 8], () =>
      outcomes.shift() ? undefined : Promise.reject(withCode('full', '53100')),
    )
    for (const warned of [0, 1, 1, 1, 2]) {
      expect((await store.fill(one('warned'))).accepted).toBe(true)
      await store.close()
      expect(warn).toHaveBeenCalledTimes(warned)
    }
    expect(warn.mock.calls[0]![0]).toMatchObject({ code: 'backend-unavailable' })
  })
})

/** What the database answers to an accepted fill in that minute. */
async function inMinute(minute: number): Promise<{ rows: unknown[] }> {
  const bytes = Buffer.alloc(48)
  for (const [index, value] of [1, 1, 0, 0, 1, minute * 60e6].entries()) bytes.writeDoubleBE(value, index * 8)
  return { rows: [{ filled: bytes.toString('hex') }] }
}
