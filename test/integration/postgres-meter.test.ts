import { createServer, type Socket } from 'node:net'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { BackendUnavailableError } from '../../src/core/errors.ts'
import { ROUNDING } from '../../src/core/meter.ts'
import { Meter } from '../../src/meter/meter.ts'
import type { Filled, FillRequest } from '../../src/meter/meter-store.ts'
import { PostgresMeterStore } from '../../src/meter/postgres-meter-store.ts'
import { beforeTimer, waitForEachAnswer } from '../support/patience.ts'
import { newTable, openPool, startPostgres } from '../support/postgres-server.ts'

const SECOND = 1_000_000
const HOUR = 3_600 * SECOND

let pool: pg.Pool
let store: PostgresMeterStore
const table = newTable()

beforeAll(async () => {
  pool = await openPool({ max: 50 })
  store = new PostgresMeterStore(pool, { table })
  await store.setup()
})

afterAll(async () => {
  await pool.query(`DROP TABLE ${table}`)
  await pool.end()
})

function one(key: string, change: Partial<FillRequest> = {}): FillRequest {
  return { name: 'test', key, amount: 1, capacity: 10, interval: HOUR, clamp: false, block: 0, ...change }
}

const times = <Result>(count: number, act: () => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, act))
const acceptedOf = (fills: readonly Filled[]) => fills.filter(({ accepted }) => accepted).length

/** Holds the row of a key as a transaction does that has not ended yet; the answer lets it go. */
async function lock(key: string): Promise<() => Promise<void>> {
  const holder = await pool.connect()
  await holder.query('BEGIN')
  await holder.query(`SELECT FROM ${table} WHERE key = $1 FOR UPDATE`, [key])
  return async () => {
    await holder.query('COMMIT')
    holder.release()
  }
}

/** Resolves when so many statements wait for a lock on our table. */
async function waiting(count: number): Promise<void> {
  for (let found = 0; found < count; ) {
    const { rows } = await pool.query(
      "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1",
      [`INSERT INTO "${table}"%`],
    )
    found = rows.length
  }
}

describe('fifty concurrent clients', () => {
  waitForEachAnswer()

  test('get at most the capacity and what leaks, and while they ask it leaks', async () => {
    const limit = { capacity: 40, interval: SECOND / 100 }
    const fills: Filled[] = []
    const isOver = () => fills.length > 0 && fills.at(-1)!.now - fills[0]!.now > 1.5 * SECOND
    await times(50, async () => {
      while (!isOver()) fills.push(await store.fill(one('crowd', limit)))
    })
    const instants = fills.map(({ now }) => now)
    const leaked = (Math.max(...instants) - Math.min(...instants)) / limit.interval
    expect(leaked).toBeGreaterThan(100)
    expect(acceptedOf(fills)).toBeLessThanOrEqual(limit.capacity + leaked + 1e-6)
    // Nobody is refused while there is room, and what has leaked makes room.
    const refused = fills.filter(({ accepted }) => !accepted)
    expect(acceptedOf(fills)).toBeGreaterThan(limit.capacity)
    for (const { state } of refused) expect(state.level).toBeGreaterThan(limit.capacity - 1 - ROUNDING)
    expect(Math.max(...fills.map(({ state }) => state.level))).toBeLessThanOrEqual(
      limit.capacity * (1 + ROUNDING),
    )
  })

  test.each(['repeatable read', 'serializable'])(
    'are judged one after the other where transactions are %s by default',
    async (level) => {
      const strict = await openPool({
        max: 20,
        options: `-c default_transaction_isolation=${level.replace(' ', '\\ ')}`,
      })
      onTestFinished(() => strict.end())
      const strictStore = new PostgresMeterStore(strict, { table })
      expect(acceptedOf(await times(50, () => strictStore.fill(one(`strict ${level}`))))).toBe(10)
    },
  )

  test('and find no row are judged one after the other as well', async () => {
    for (let round = 0; round < 10; round++) {
      expect(acceptedOf(await times(30, () => store.fill(one(`new ${round}`))))).toBe(10)
    }
  })
})

describe('a row that another client has locked for a moment', () => {
  waitForEachAnswer()

  test('makes others wait, and is leaked by the time at which they get it', async () => {
    const { now: before } = await store.fill(one('locked'))
    const free = await lock('locked')
    const late = times(30, () => store.fill(one('locked')))
    await waiting(30)
    expect((await store.fill(one('not locked'))).accepted).toBe(true)
    const { now: freed } = await store.read({ name: 'test', key: 'locked' })
    await free()
    const fills = await late
    expect(acceptedOf(fills)).toBe(9)
    expect(freed).toBeGreaterThan(before)
    expect(Math.min(...fills.map(({ now }) => now))).toBeGreaterThan(freed)
  })
})

test('a row that is locked for too long makes the fill an error of unknown fate, which counts when it runs after all', async () => {
  await store.fill(one('stuck'))
  const free = await lock('stuck')
  await expect(beforeTimer(2_000, store.fill(one('stuck', { amount: 2 })))).rejects.toThrow(
    'PostgreSQL is unavailable: no response within 1500 ms',
  )
  await free()
  const levelNow = async () => (await store.read({ name: 'test', key: 'stuck' })).state!.level
  let level = await levelNow()
  while (level < 2) level = await levelNow()
  expect(level).toBeCloseTo(3, 2)
})

test('two meters of one name on two connections share their levels, and no others', async () => {
  const limits = { '*': '3, 1/h' }
  const open = (name: string) => new Meter(name, { limits, store: new PostgresMeterStore(pool, { table }) })
  const [here, there, other] = [open('shared'), open('shared'), open('other')]
  expect((await here.fill('ключ/😀', 1.5)).accepted).toBe(true)
  expect(await there.fill('ключ/😀', 2)).toMatchObject({ accepted: false, full: false, pattern: '*' })
  expect(await there.canAccept('ключ/😀', 1.5)).toBe(true)
  expect((await other.fill('ключ/😀', 3)).full).toBe(true)
  await there.drain('ключ/😀')
  expect((await here.level('ключ/😀')).level).toBe(0)
})

describe('in a transaction of the user', () => {
  test('a fill is made with it or not at all, by the clock and not by the time of its beginning', async () => {
    const client = await pool.connect()
    onTestFinished(() => client.release())
    const inside = new PostgresMeterStore(client, { table })
    await client.query('BEGIN')
    const [first, second] = [await inside.fill(one('undone')), await inside.fill(one('undone'))]
    expect([first.accepted, second.accepted]).toEqual([true, true])
    expect(second.now).toBeGreaterThan(first.now)
    await client.query('ROLLBACK')
    expect((await store.read({ name: 'test', key: 'undone' })).state).toBeUndefined()
  })

  test.each(['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'])(
    'nothing is sent that was not asked for, so that it commits at %s among the expired rows of others',
    async (isolation) => {
      const long = { capacity: 1e6, amount: 1 }
      const others = Array.from({ length: 20 }, (_, n) => one(`expired ${isolation} ${n}`, long))
      for (const other of others) await store.fill(other, 1)
      const client = await pool.connect()
      onTestFinished(() => client.release())
      await client.query(`BEGIN ISOLATION LEVEL ${isolation}`)
      await client.query(`SELECT count(*) FROM pg_class`)
      // After its snapshot they are moved on, and expire again.
      for (const other of others) await store.fill(other, 2)
      const inside = new PostgresMeterStore(client, { table })
      expect((await inside.fill(one(`mine ${isolation}`, { amount: 7 }))).accepted).toBe(true)
      await inside.close()
      expect((await client.query('COMMIT')).command).toBe('COMMIT')
      const { state } = await store.read({ name: 'test', key: `mine ${isolation}` })
      expect(state?.level).toBe(7)
      const { rows } = await pool.query(`SELECT FROM ${table} WHERE key LIKE $1`, [`expired ${isolation} %`])
      expect(rows).toHaveLength(20)
    },
  )

  test('a conflict is reported as what it is, since it cannot be tried again', async () => {
    const client = await pool.connect()
    onTestFinished(() => client.release())
    const inside = new PostgresMeterStore(client, { table })
    await store.fill(one('disputed'))
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    await inside.read({ name: 'test', key: 'disputed' })
    await store.fill(one('disputed'))
    await expect(inside.fill(one('disputed'))).rejects.toThrow(
      'rolled back because of another one (SQLSTATE 40001)',
    )
    await client.query('ROLLBACK')
  })
})

describe('a server', () => {
  test('that was killed is an error within two seconds, and has forgotten nothing when it is back', async () => {
    await using server = await startPostgres()
    const own = await openPool({ connectionString: server.url })
    const killed = new PostgresMeterStore(own)
    await killed.setup()
    await killed.fill(one('survivor', { amount: 7 }))
    await killed.close()
    await server.kill()
    for (const verb of [
      () => killed.fill(one('survivor')),
      () => killed.read({ name: 'test', key: 'survivor' }),
      () => killed.drain({ name: 'test', key: 'survivor' }),
    ]) {
      await expect(beforeTimer<unknown>(2_000, verb())).rejects.toBeInstanceOf(BackendUnavailableError)
    }
    await server.restart()
    expect((await killed.fill(one('survivor', { amount: 4 }))).accepted).toBe(false)
    expect((await killed.fill(one('survivor', { amount: 3 }))).accepted).toBe(true)
    await own.end()
  })

  test('that is killed while it is asked is an error, too', async () => {
    await using server = await startPostgres()
    const own = await openPool({ connectionString: server.url })
    const cut = new PostgresMeterStore(own, { table: 'cut' })
    await cut.setup()
    await cut.fill(one('cut'))
    await cut.close()
    const holder = await own.connect()
    holder.on('error', () => {})
    await holder.query('BEGIN')
    await holder.query('SELECT FROM cut FOR UPDATE')
    const fill = cut.fill(one('cut'))
    const refused = expect(fill).rejects.toMatchObject({ code: 'backend-unavailable' })
    await server.kill()
    await refused
    holder.release(true)
    await own.end()
  })

  test('that takes connections and never answers is an error within two seconds', async () => {
    const visitors = new Set<Socket>()
    const mute = createServer((visitor) => {
      visitor.on('error', () => {})
      visitors.add(visitor)
    })
    await new Promise<void>((resolve) => void mute.listen(0, '127.0.0.1', resolve))
    const { port } = mute.address() as { port: number }
    const own = await openPool({ connectionString: `postgresql://unknown@127.0.0.1:${port}/none` })
    await expect(beforeTimer(2_000, new PostgresMeterStore(own).fill(one('k')))).rejects.toThrow(
      'no response within 1500 ms',
    )
    for (const visitor of visitors) visitor.destroy()
    mute.close()
    await own.end()
  })
})
