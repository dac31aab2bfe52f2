import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Edit, edited } from './mutant.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** What a copy does not need. */
const WITHOUT = new Set(['.git', '.built', '.sim', 'bench', 'coverage', 'dist', 'node_modules'])

/** A copy of the checkout with edits, inside the checkout, where it finds the packages. */
export function copyWith(edits: readonly Edit[]): string {
  mkdirSync(join(ROOT, '.built'), { recursive: true })
  const copy = mkdtempSync(join(ROOT, '.built/mutant-'))
  for (const name of readdirSync(ROOT)) {
    if (!WITHOUT.has(name)) cpSync(join(ROOT, name), join(copy, name), { recursive: true })
  }
  for (const edit of edits) {
    const path = join(copy, edit.file)
    writeFileSync(path, edited(readFileSync(path, 'utf8'), edit))
  }
  return copy
}
