import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export const HTML = '<!doctype html><script type="module" src="/assets/index-3f2a.js"></script>'
export const SCRIPT = 'console.log("in")\n'

/** A folder as the build of the page leaves it, with files beside it that must not be served. */
export function builtPage(): string {
  const root = mkdtempSync(join(tmpdir(), 'velvet-rope-dashboard-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const folder = join(root, 'dashboard')
  mkdirSync(join(folder, 'assets', 'deeper'), { recursive: true })
  writeFileSync(join(root, 'secret.js'), 'secret')
  symlinkSync(join(root, 'secret.js'), join(folder, 'assets', 'link.js'))
  writeFileSync(join(folder, 'index.html'), HTML)
  writeFileSync(join(folder, 'icon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
  writeFileSync(join(folder, 'assets', 'index-3f2a.js'), SCRIPT)
  writeFileSync(join(folder, 'assets', 'index-77aa.css'), 'body{}')
  writeFileSync(join(folder, 'assets', 'notes.yaml'), 'secret: 1')
  writeFileSync(join(folder, 'assets', 'deeper', 'more.js'), 'secret')
  return folder
}
