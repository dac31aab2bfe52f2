import { execFileSync } from 'node:child_process'
import { openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { isOnPath } from '../programs.ts'

/** A library that moves the wall clock of the programs that it is preloaded into. */
export interface ClockShim {
  readonly library: string
}

/** A wall clock that can be moved. */
export class MovableClock {
  readonly env: Readonly<Record<string, string>>
  readonly #fd: number
  #offset = 0n

  constructor({ library }: ClockShim, file: string, offsetMs = 0) {
    writeFileSync(file, Buffer.alloc(8))
    this.#fd = openSync(file, 'r+')
    this.env = { LD_PRELOAD: library, CLOCK_OFFSET_FILE: file }
    if (offsetMs !== 0) this.step(offsetMs)
  }

  /** Moves it from one moment to the next. */
  step(byMs: number): void {
    this.#offset += BigInt(Math.round(byMs * 1_000))
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(this.#offset)
    // Eight bytes of one page: a reader sees all of them or none.
    writeSync(this.#fd, bytes, 0, 8, 0)
  }
}

/** Compiles the shim into `folder`; undefined where no compiler of C is installed. @param source `clock-shim.c` */
export function buildClockShim(source: string, folder: string): ClockShim | undefined {
  const compiler = ['cc', 'gcc', 'clang'].find(isOnPath)
  if (process.platform !== 'linux' || compiler === undefined) return undefined
  const library = join(folder, 'clock-shim.so')
  execFileSync(compiler, ['-shared', '-fPIC', '-O2', '-o', library, source], { stdio: 'pipe' })
  return { library }
}
