import { spawn } from 'node:child_process'
import { rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { copyWith } from '../../sim/mutants/copy-with.ts'
import { DEFECTS, type PlantedDefect } from './defects.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** Of vitest, by the folder of the tests. */
const PROJECTS: Readonly<Record<string, string>> = { fault: 'campaign', unit: 'unit' }

/**
 * Puts each defect into a copy of the checkout, and runs there the file that is to find it; returns whether each was found. The
 * same file must be green in a copy without the defect.
 */
export async function runPlanted(only: string | undefined): Promise<boolean> {
  const defects = DEFECTS.filter(({ name, number }) => only === undefined || only === name || only === number)
  if (defects.length === 0) throw new Error(`expected the name or number of a defect, got: ${only}`)
  const without = new Map<string, Promise<Outcome>>()
  let found = 0
  for (const defect of defects) {
    const { foundBy } = defect
    if (!without.has(foundBy)) without.set(foundBy, runIn({ foundBy, edits: [] }))
    const always = (await without.get(foundBy)!).failed
    const failed = always ?? (await runIn(defect)).failed
    if (failed !== undefined && always === undefined) found += 1
    const verdict =
      failed === undefined
        ? 'NOT FOUND'
        : always === undefined
          ? `found by "${failed.fullName}"`
          : `red without it, too: "${failed.fullName}": ${failed.failureMessages.join('\n')}`
    console.log(`${defect.number} ${defect.name} (${defect.what}): ${verdict}, ${foundBy}`)
  }
  console.log(`${found} of ${defects.length} found`)
  return found === defects.length
}

interface Outcome {
  /** The first test that failed. */
  readonly failed: TestReport | undefined
}

async function runIn({ foundBy, edits }: Pick<PlantedDefect, 'foundBy' | 'edits'>): Promise<Outcome> {
  const copy = copyWith(edits)
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  try {
    const project = PROJECTS[foundBy.split('/')[1]!] ?? 'tests'
    const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
    const out = await output(copy, [vitest, 'run', '--project', project, '--reporter', 'json', foundBy])
    const report = JSON.parse(out.slice(out.indexOf('{"num'))) as Report
    const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults)
    if (tests.length === 0) throw new Error(`expected tests in ${foundBy}, got none: ${out.slice(0, 2_000)}`)
    return { failed: tests.find(({ status }) => status === 'failed') }
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

/** What vitest reports, as far as it is read here. */
interface Report {
  readonly testResults: readonly { readonly assertionResults: readonly TestReport[] }[]
}

interface TestReport {
  readonly status: string
  readonly fullName: string
  readonly failureMessages: readonly string[]
}

function output(cwd: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'ignore'] })
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    child.on('close', () => resolve(text))
  })
}
