/*
 * usage: node tools/copy-lua.mjs <folder> [--bare]: copies the Lua scripts beside the compiled modules that load them. --bare leaves their
 * comments out, as the package does: those that a program reads stay.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const COMMENT = /^ *--(?! (?:uses|of): ).*\n/gm
const [, , folder, flag] = process.argv
if (folder === undefined) throw new Error('expected a folder, got: nothing')
for (const name of readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })) {
  if (!name.endsWith('.lua')) continue
  const text = readFileSync(join(ROOT, 'src', name), 'utf8')
  const target = join(folder, 'src', name)
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, flag === '--bare' ? text.replace(COMMENT, '') : text)
}
