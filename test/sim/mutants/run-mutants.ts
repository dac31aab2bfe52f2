import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { copyWith } from './copy-with.ts'
import type { Hunt } from './hunt.ts'
import { MENDED } from './mended.ts'
import type { Mutant } from './mutant.ts'
import { PROTOCOL } from './protocol.ts'
import { RUNS } from './runs.ts'
import { SETS } from './sets.ts'
import { TOTALS } from './totals.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const TSX = join(ROOT, 'node_modules/tsx/dist/cli.mjs')
/** A seed of a subject takes about a fifth of a second: all defects together take some minutes. */
const MOST_SEEDS = 100
/** Beyond that a hunt hangs; milliseconds. */
const LONGEST = 600_000

/**
 * Puts each defect into a copy of the sources, and looks for it in runs about its subject; prints for each by which seed it was
 * found, and which law that broke. Returns whether all were found.
 */
export async function runMutants(only: string | undefined, from: number, processes = 2): Promise<boolean> {
  const mutants = [...PROTOCOL, ...MENDED, ...RUNS, ...SETS, ...TOTALS].filter(
    ({ name }) => only === undefined || name === only,
  )
  if (mutants.length === 0) throw new Error(`expected the name of a defect, got ${only}`)
  const waiting = [...mutants]
  let found = 0
  const serve = async () => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const result = await runMutant(mutant, from)
      if (result.isFound) found += 1
      console.log(`${mutant.name}: ${result.text}`)
    }
  }
  await Promise.all(Array.from({ length: processes }, serve))
  console.log(`${found} of ${mutants.length} found`)
  return found === mutants.length
}

async function runMutant(mutant: Mutant, from: number): Promise<{ isFound: boolean; text: string }> {
  const { subject = '-', seeds: most = MOST_SEEDS, what } = mutant
  const copy = copyWith(mutant.edits)
  try {
    const out = await output([TSX, join(copy, 'test/sim/mutants/hunt.ts'), subject, `${from}`, `${most}`])
    const about = subject === '-' ? '' : ` about "${subject}"`
    const last = out.text.trim().split('\n').at(-1) ?? ''
    if (out.code !== 0 || !last.startsWith('{'))
      return { isFound: false, text: `NOT RUN: it ended with ${out.code}` }
    const { found, seeds } = JSON.parse(last) as Hunt
    if (found === undefined) return { isFound: false, text: `NOT FOUND in ${seeds} seeds${about}: ${what}` }
    const laws = found.laws.join(', ')
    return {
      isFound: true,
      text: `found by seed ${found.seed} (${laws}), after ${seeds} seeds${about}: ${what}`,
    }
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

function output(args: readonly string[]): Promise<{ readonly code: number | null; readonly text: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], timeout: LONGEST })
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    child.on('close', (code) => resolve({ code, text }))
  })
}
