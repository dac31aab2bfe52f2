import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { copyWith } from './copy-with.ts'
import { MENDED } from './mended.ts'
import type { Mutant } from './mutant.ts'
import { PROTOCOL } from './protocol.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const TSX = join(ROOT, 'node_modules/tsx/dist/cli.mjs')
const MOST_SEEDS = 4_000

/** Puts each defect into a copy of the sources, and looks in how many seeds it is found; returns whether all were found. */
export async function runMutants(only: string | undefined, from: number): Promise<boolean> {
  const mutants = [...PROTOCOL, ...MENDED].filter(({ name }) => only === undefined || name === only)
  if (mutants.length === 0) throw new Error(`expected the name of a defect, got ${only}`)
  let found = 0
  for (const mutant of mutants) {
    const result = await runMutant(mutant, from)
    if (result.isFound) found += 1
    console.log(`${mutant.name}: ${result.text}`)
  }
  console.log(`${found} of ${mutants.length} found`)
  return found === mutants.length
}

async function runMutant(mutant: Mutant, from: number): Promise<{ isFound: boolean; text: string }> {
  const copy = copyWith(mutant.edits)
  try {
    const seeds = mutant.seeds ?? MOST_SEEDS
    const until = `--from ${from} --seeds ${seeds} --first --folder ${join(copy, 'failures')}`
    const out = await output([TSX, join(copy, 'test/sim/run.ts'), ...until.split(' ')])
    const failed = /seed (\d+) failed \(([^)]*)\)/.exec(out)
    if (failed === null) return { isFound: false, text: `NOT FOUND in ${seeds} seeds: ${mutant.what}` }
    const [, seed, laws] = failed
    const ran = /^(\d+) seeds/m.exec(out.slice(out.lastIndexOf('\n', out.lastIndexOf(' seeds,'))))?.[1]
    return { isFound: true, text: `found by seed ${seed} (${laws}) after about ${ran} seeds: ${mutant.what}` }
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

function output(args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    child.on('close', () => resolve(text))
  })
}
