import { type AddressInfo, createServer } from 'node:net'
import type { TestProject } from 'vitest/node'
import { PostgresProcess, programFolder } from './postgres-process.ts'
import { ensureProgram } from './programs.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A port of 127.0.0.1; a connection to it gets the URL of the tests' PostgreSQL. */
    postgresDoor: number
  }
}

/**
 * Once for each run: the PostgreSQL of the tests is POSTGRES_URL, or a private server. It takes two seconds to start
 * and few tests want it, so it starts when the first of them, in whatever process, asks for it.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Tests also start servers of their own, so the programs are needed in any case.
  ensureProgram({
    debianPackage: 'postgresql',
    wants: 'PostgreSQL 13 or newer',
    advice: 'install postgresql',
    isThere: () => programFolder() !== undefined,
  })
  let url: Promise<string> | undefined
  const server = createServer((visitor) => {
    url ??= startOne()
    const answer = url.catch((error: unknown) => `no PostgreSQL: ${error}`)
    visitor.on('error', () => {})
    void answer.then((text) => visitor.end(text))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  project.provide('postgresDoor', (server.address() as AddressInfo).port)
  return async () => {
    server.close()
    await url?.catch(() => {})
    await PostgresProcess.stopAll()
  }
}

async function startOne(): Promise<string> {
  return process.env['POSTGRES_URL'] || (await PostgresProcess.start()).url
}
