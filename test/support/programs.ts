import { execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'

export interface Program {
  /** Its package in Debian. */
  readonly debianPackage: string
  /** What the tests need, in words: `'Redis 7 or newer'`. */
  readonly wants: string
  /** What to install by hand. */
  readonly advice: string
  isThere(): boolean
}

/** Installs what the tests need and the machine lacks; ends the run, in one line, where it cannot. */
export function ensureProgram(program: Program): void {
  if (program.isThere()) return
  if (process.getuid?.() !== 0 || !hasApt()) stop(program, 'was not found')
  console.log(`Installing ${program.debianPackage} with apt-get, for the tests`)
  try {
    withoutServices(() => {
      apt('update')
      apt('install', '-y', '-o', 'DPkg::Lock::Timeout=300', '--no-install-recommends', program.debianPackage)
    })
  } catch {
    stop(program, 'could not be installed with apt-get')
  }
  if (!program.isThere()) stop(program, 'was not found after apt-get has installed it')
}

export function isOnPath(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

function hasApt(): boolean {
  return existsSync('/usr/bin/apt-get')
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
function stop({ wants, debianPackage, advice }: Program, problem: string): never {
  console.error(`The tests need ${wants}, and ${debianPackage} ${problem}: ${advice}`)
  process.exit(1)
}
