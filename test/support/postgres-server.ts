import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { inject } from 'vitest'
import { atFileEnd } from './at-file-end.ts'
import { PostgresProcess } from './postgres-process.ts'

// When vitest itself was killed, this process would run its test to the end, and its servers with it.
process.once('disconnect', () => void PostgresProcess.stopAll())

/** The address of the tests' PostgreSQL; the first to ask starts it. */
export async function postgresUrl(): Promise<string> {
  const answer = await text(connect(inject('postgresDoor'), '127.0.0.1'))
  if (!answer.startsWith('postgres')) throw new Error(answer)
  return answer
}

/** Connections to it, which the caller ends. One that is lost while it is idle is no news to a test. */
export async function openPool(settings: pg.PoolConfig = {}): Promise<pg.Pool> {
  const pool = new pg.Pool({ connectionString: await postgresUrl(), ...settings })
  pool.on('error', () => {})
  return pool
}

/** A name that no other test uses. */
export function newTable(): string {
  return `meters_${randomUUID().replaceAll('-', '').slice(0, 16)}`
}

/** A server for tests that stop it; gone at the end of the test file at the latest. */
export function startPostgres(): Promise<PostgresProcess> {
  // Also when a test fails before it stops its own.
  atFileEnd(() => PostgresProcess.stopAll())
  return PostgresProcess.start()
}
