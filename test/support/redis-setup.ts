import { execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { RedisProcess } from './redis-process.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    redisAddress: string
  }
}

/** Once for each run: the Redis of the tests is REDIS_URL, or a private server on a unix socket. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Tests also start servers of their own, so the program is needed in any case.
  if (!isOnPath('redis-server')) install()
  const url = process.env['REDIS_URL'] || (await RedisProcess.start()).url
  project.provide('redisAddress', url)
  return () => RedisProcess.stopAll()
}

function isOnPath(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

function install(): void {
  if (process.getuid?.() !== 0 || !isOnPath('apt-get')) stop('is not on the PATH')
  console.log('Installing redis-server with apt-get, for the tests')
  try {
    withoutServices(() => {
      apt('update')
      apt('install', '-y', '--no-install-recommends', 'redis-server')
    })
  } catch {
    stop('could not be installed with apt-get')
  }
  if (!isOnPath('redis-server')) stop('is not on the PATH after apt-get has installed it')
}

function apt(...args: string[]): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  execFileSync('apt-get', args, { env, stdio: ['ignore', 'ignore', 'inherit'] })
}

/** The package would start a server on the usual port. This file is how Debian lets one forbid it. */
function withoutServices(act: () => void): void {
  const policy = '/usr/sbin/policy-rc.d'
  const isOurs = !existsSync(policy)
  if (isOurs) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    act()
  } finally {
    if (isOurs) rmSync(policy)
  }
}

/** In one line, which an exception would bury. */
function stop(problem: string): never {
  console.error(
    `The tests need Redis 7 or newer, and redis-server ${problem}: install redis-server and redis-tools`,
  )
  process.exit(1)
}
