import { vi } from 'vitest'
import { runProgram } from '../../../src/cli/program.ts'

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** On a busy machine a command may take long enough to say how far it is. */
const PROGRESS = /^.* \(\d+ s\)\n/gm

/** Runs the whole program in this process and catches what it writes. */
export function run(...args: readonly string[]): Promise<Ran> {
  return catchOutput(() => runProgram(args))
}

/** Does something that writes as a command does; the code is what it answers, or what it left behind. */
export async function catchOutput(work: () => Promise<number>): Promise<Ran> {
  const written = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      written[name] += String(text)
      return true
    })
  }
  vi.spyOn(process, 'exit').mockImplementation(() => undefined as never)
  try {
    const returned = await work()
    const { stdout, stderr } = written
    return { code: returned || Number(process.exitCode ?? 0), stdout, stderr: stderr.replace(PROGRESS, '') }
  } finally {
    process.exitCode = undefined
    vi.restoreAllMocks()
  }
}
