import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Inside the checkout, so that the compiled files find its packages and its manifest. */
const BUILDS = join(ROOT, '.built')
/** No run takes that long: what is older was left by a run that was killed; milliseconds. */
const LEFT_OVER = 24 * 3_600_000

/**
 * Compiles everything that tests start in processes of their own. Each run has its own folder, so that runs in one checkout do
 * not disturb each other. Types are not checked: `npm run check` has a step for them.
 */
export function compileTests(): { readonly folder: string; remove(): void } {
  mkdirSync(BUILDS, { recursive: true })
  removeLeftOvers()
  const folder = mkdtempSync(join(BUILDS, 'run-'))
  // The checkout may be a copy inside another, whose packages it uses.
  const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
  const args = [compiler, '-p', join(ROOT, 'test/support/tsconfig.built.json'), '--outDir', folder]
  execFileSync(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] })
  execFileSync(process.execPath, [join(ROOT, 'tools/copy-lua.mjs'), folder])
  // So that `velvet-rope` is what it says to a user, and leads to these files: the manifest says they are in dist.
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  symlinkSync('.', join(folder, 'dist'))
  // The page is built by itself, if at all; compiled sources look for it beside them.
  symlinkSync(join(ROOT, 'dist/dashboard'), join(folder, 'dashboard'))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

function removeLeftOvers(): void {
  for (const name of readdirSync(BUILDS)) {
    const folder = join(BUILDS, name)
    const changedAt = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
    if (Date.now() - changedAt > LEFT_OVER) rmSync(folder, { recursive: true, force: true })
  }
}
