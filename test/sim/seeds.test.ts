import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { edited } from './mutants/mutant.ts'
import { PROTOCOL } from './mutants/protocol.ts'

interface Ended {
  readonly code: number
  readonly out: string
}

function simulate(root: string, ...args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [join(root, 'test/sim/run.js'), ...args], (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out: out + err })
    })
  })
}

/** A copy of the compiled sources with a defect in its scripts, beside the original, where it finds the packages. */
function copyWith(name: string): string {
  const { edits } = PROTOCOL.find((mutant) => mutant.name === name)!
  const built = inject('builtFolder')
  const copy = mkdtempSync(join(dirname(built), 'mutant-'))
  for (const part of ['src', 'test', 'package.json'])
    cpSync(join(built, part), join(copy, part), { recursive: true })
  for (const edit of edits) {
    const path = join(copy, edit.file)
    writeFileSync(path, edited(readFileSync(path, 'utf8'), edit))
  }
  return copy
}

test('eighty seeds break no law', async () => {
  const { code, out } = await simulate(inject('builtFolder'), '--seeds', '80', '--processes', '1')
  const [, seeds, idle] = /^(\d+) seeds and (\d+) idle, .* 0 failed\nfaults/m.exec(out)!
  expect(Number(seeds) + Number(idle)).toBe(80)
  expect(code).toBe(0)
})

test('a seed has the same history in two processes', async () => {
  const first = await simulate(inject('builtFolder'), '--only', '38', '--trace')
  expect(await simulate(inject('builtFolder'), '--only', '38', '--trace')).toEqual(first)
  expect(first.out.split('\n').length).toBeGreaterThan(50)
})

test.each([
  ['early-slot', 'L2'],
  ['full-line-admits', 'L1'],
  ['retry-lost', 'recount'],
  ['order-not-kept', 'L4'],
])('a planted defect is found, made smaller and written down: %s', async (name, law) => {
  const copy = copyWith(name)
  const folder = mkdtempSync(join(tmpdir(), 'velvet-rope-sim-'))
  try {
    const { code, out } = await simulate(
      copy,
      '--seeds',
      '200',
      '--first',
      '--processes',
      '1',
      '--folder',
      folder,
    )
    expect(out).toMatch(new RegExp(`seed \\d+ failed \\([^)]*${law}`))
    expect(code).toBe(1)
  } finally {
    rmSync(copy, { recursive: true })
    rmSync(folder, { recursive: true })
  }
})
