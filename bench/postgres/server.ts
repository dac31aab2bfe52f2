import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { PostgresProcess, programFolder } from '../../test/support/postgres-process.ts'
import type { Server } from '../servers.ts'

/** Such as `postgres 15.18`. @throws when there is none, with what to do about it */
export function postgresVersion(): string {
  const folder = programFolder()
  if (folder === undefined) {
    throw new Error(
      'The bench of meters starts PostgreSQL by itself, and its programs initdb and postgres are neither on the PATH ' +
        'nor in /usr/lib/postgresql/*/bin: expected PostgreSQL 13 or later. Install it, or leave it out with ' +
        '--only meter-memory.',
    )
  }
  const said = execFileSync(join(folder, 'postgres'), ['--version'], { encoding: 'utf8' })
  return `postgres ${/[\d.]+/.exec(said)?.[0] ?? 'of unknown version'}`
}

/** A fresh cluster on a unix socket; its address is a URL. Everything that decides the speed is at its default. */
export async function startPostgres(): Promise<Server> {
  const server = await PostgresProcess.start([])
  return { address: server.url, stop: () => server.stop() }
}
