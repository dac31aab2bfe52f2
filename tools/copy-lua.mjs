/* usage: node tools/copy-lua.mjs <folder>: copies the Lua scripts beside the compiled modules that load them. */
import { cpSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const [, , folder] = process.argv
if (folder === undefined) throw new Error('expected a folder, got: nothing')
for (const name of readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })) {
  if (name.endsWith('.lua')) cpSync(join(ROOT, 'src', name), join(folder, 'src', name))
}
